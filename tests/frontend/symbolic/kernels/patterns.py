import cuda.tile as ct
from cuda.tile.compilation import *
T=ct.Constant[int]
@ct.kernel
def vadd(a,b,c,TILE:T):
    i=ct.bid(0)
    x=ct.load(a,(i,),(TILE,)); y=ct.load(b,(i,),(TILE,))
    ct.store(c,(i,),x+y)
@ct.kernel
def persist(a,c,TILE:T):
    n=ct.cdiv(a.shape[0],TILE)
    for t in range(ct.bid(0), n, ct.num_blocks(0)):
        x=ct.load(a,(t,),(TILE,))
        ct.store(c,(t,),x*2)
@ct.kernel
def matmul(A,B,C,tm:T,tn:T,tk:T):
    M=A.shape[0]; N=B.shape[1]
    G=8
    bid=ct.bid(0)
    nm=ct.cdiv(M,tm); nn=ct.cdiv(N,tn)
    ng=G*nn
    g=bid//ng
    first=g*G
    gs=min(nm-first,G)
    bm=first+(bid%gs)
    bn=(bid%ng)//gs
    nk=ct.num_tiles(A,axis=1,shape=(tm,tk))
    acc=ct.full((tm,tn),0,dtype=ct.float32)
    for k in range(nk):
        a=ct.load(A,(bm,k),(tm,tk),padding_mode=ct.PaddingMode.ZERO)
        b=ct.load(B,(k,bn),(tk,tn),padding_mode=ct.PaddingMode.ZERO)
        acc=ct.mma(a,b,acc)
    ct.store(C,(bm,bn),ct.astype(acc,C.dtype))
@ct.kernel
def gath(x,idx,out,TILE:T):
    i=ct.bid(0)*TILE+ct.arange(TILE,dtype=ct.int32)
    j=ct.gather(idx,(i,),padding_value=0)
    v=ct.gather(x,(j,),padding_value=0)
    ct.scatter(out,(i,),v)
@ct.kernel
def gath2(x,out,TILE:T):
    r=ct.bid(0)
    i=ct.arange(TILE,dtype=ct.int32)
    v=ct.gather(x,(r,i),padding_value=0)
    ct.scatter(out,(r,i),v)
@ct.kernel
def brk(x,out,n,TILE:T):
    off=0
    for k in range(10):
        v=ct.load(x,(k,),(TILE,))
        if k==n:
            break
        ct.store(out,(off,),v)
        off+=2
@ct.kernel
def whl(x,out,n):
    i=0
    while i<n:
        v=ct.load(x,(i,),(16,))
        ct.store(out,(i,),v)
        i+=1
@ct.kernel
def early(x,out,n):
    b=ct.bid(0)
    if b>=n:
        return
    v=ct.load(x,(b,),(16,))
    ct.store(out,(b,),v)
@ct.kernel
def inplace(x,n):
    for k in range(n):
        v=ct.load(x,(k,),(16,))
        ct.store(x,(k,),v+1)
        w=ct.load(x,(k,),(16,))
        ct.store(x,(k+1,),w+1)
@ct.kernel
def lists(xs,out):
    for i in range(len(xs)):
        a=xs[i]
        v=ct.load(a,(ct.bid(0),0),(16,16))
        ct.store(out,(ct.bid(0),i),v)
@ct.kernel
def atom(cnt,out):
    t=ct.atomic_add(cnt,(0,),1)
    ct.store(out,(t,),ct.full((16,),1.0,ct.float32))
@ct.kernel
def pymod(x,out,n):
    b=ct.bid(0)
    v=ct.load(x,((b-n)%7,),(16,))
    ct.store(out,(b//n,),v)
