(** The machine of docs/soundness.md, section 1: launches, accesses, executions, happens-before and races.

    Nothing here is a decision of the verifier: this file is the specification's memory model as we read it.  README.md
    says in words what it idealises. *)

From Coq Require Import ZArith List Bool Relations Wellfounded.
Import ListNotations.

(** ** Memory, blocks, accesses *)

Definition addr := Z. (* the number of a byte *)
Definition val := Z. (* what a byte holds *)
Definition memory := addr -> val.
Definition block := (Z * Z * Z)%type. (* the number of a tile block, by axis of the grid *)

Inductive kind := Load | Store | Rmw | NoAccess. (* Rmw: atomic read-modify-write; NoAccess: an op that only demands *)
Inductive scope := BlockScope | DeviceScope | SystemScope.

(** What the semantics demand of an op beyond its bytes, by the code under which the verifier asks for it. *)
Inductive demand := TV301_in_index_space | TV303_promised_in_bounds | TV401_assumed | TV402_arithmetic.

(** One lane of one execution of an op.  [written_by] gives the bytes that it leaves behind, by address, from what it
    has read (nothing, for a store). *)
Record access (array : Type) := {
  kind_of : kind;
  bytes : list addr;
  origin : array; (* what its address was derived from *)
  scoped : option scope; (* None: a weak access *)
  acquires : bool;
  releases : bool;
  written_by : list val -> addr -> val;
  demands : demand -> Prop
}.
Arguments kind_of {array}. Arguments bytes {array}. Arguments origin {array}. Arguments scoped {array}.
Arguments acquires {array}. Arguments releases {array}. Arguments written_by {array}. Arguments demands {array}.

Section OfAccesses.
  Context {array : Type}.
  Implicit Types a : access array.

  Definition reads a : bool := match kind_of a with Load | Rmw => true | Store | NoAccess => false end.
  Definition writes a : bool := match kind_of a with Store | Rmw => true | Load | NoAccess => false end.
  Definition width a : nat := length (bytes a).
  Definition weak a : Prop := scoped a = None.

  Definition touches a (x : addr) : bool := existsb (Z.eqb x) (bytes a).
  Definition share_a_byte a a' : Prop := exists x, In x (bytes a) /\ In x (bytes a').

  (** The scope of an access of block [b] includes block [b']. *)
  Definition scope_includes a (b b' : block) : Prop :=
    match scoped a with
    | None => False
    | Some BlockScope => b = b'
    | Some (DeviceScope | SystemScope) => True
    end.

  (** Scopes that include each other's block, and one width: the part of the specification's "morally strong" that is
      not token order. *)
  Definition morally_strong (b : block) a (b' : block) a' : Prop :=
    scope_includes a b b' /\ scope_includes a' b' b /\ width a = width a'.
End OfAccesses.

(** The access done to a memory, all at once. *)
Definition perform {array} (a : access array) (m : memory) : memory := fun x =>
  if writes a && touches a x then written_by a (if reads a then map m (bytes a) else nil) x else m x.

(** [u] comes before [v] in a list. *)
Fixpoint precedes {A} (l : list A) (u v : A) : Prop :=
  match l with
  | nil => False
  | a :: rest => (a = u /\ In v rest) \/ precedes rest u v
  end.

(** ** A launch *)

Definition results (id : Type) := id -> option (list val).
(** What the op executions of one block have given back: [None] before they did, or if there is no such execution. *)

(** A launch: its grid, its memory at the beginning, and its blocks.  An [id] names one lane of one dynamic op
    execution ("lane 5 of the store in line 7, in iteration 3"); it does not say that a block gets there.  [does] says
    whether it does and what it does then: a function of the block's number and of what the block has read, so that
    the next access may depend on everything that was read.  Nothing else distinguishes blocks. *)
Record launch := {
  id : Type;
  same_op : id -> id -> bool; (* lanes of one execution of one op *)
  array : Type;
  region : array -> addr -> Prop; (* the bytes of an array *)
  initial : memory;
  in_grid : block -> Prop; (* any number of blocks *)
  does : block -> results id -> id -> option (access array);

  (** [waits b r i j]: a token path leads from the op of [j] to the op of [i].  Program order is not there: two
      accesses neither of which waits for the other are both pending, and may be performed in either order. *)
  waits : block -> results id -> id -> id -> Prop;

  (** [depends i j]: the result of [j] may reach the operands of [i], or decide that [i] runs, directly or through
      others. *)
  depends : id -> id -> bool;
  (** [steers i j]: the result of [j] may decide whom [i] waits for. *)
  steers : id -> id -> Prop;
  (** Operands and tokens come from ops that are earlier in the text, or in an earlier iteration. *)
  earlier : id -> id -> Prop;

  does_by_dependencies : forall b r r' i,
    (forall j, depends i j = true -> r j = r' j) -> does b r i = does b r' i;
  waits_by_steering : forall b r r' i j,
    (forall k, steers i k -> r k = r' k) -> waits b r i j -> waits b r' i j;
  depends_transitive : forall i j k, depends i j = true -> depends j k = true -> depends i k = true;
  depends_earlier : forall i j, depends i j = true -> earlier j i;
  steers_earlier : forall i j, steers i j -> earlier j i;
  waits_earlier : forall b r i j, waits b r i j -> earlier j i;
  waits_transitive : forall b r i j k, waits b r i j -> waits b r j k -> waits b r i k;
  earlier_transitive : forall i j k, earlier i j -> earlier j k -> earlier i k;
  earlier_well_founded : well_founded earlier;
  rmw_is_scoped : forall b r i a, does b r i = Some a -> kind_of a = Rmw -> scoped a <> None
}.

Arguments same_op {_}. Arguments region {_}. Arguments does {_}.
Arguments waits {_}. Arguments depends {_}. Arguments steers {_}. Arguments earlier {_}.

(** ** Executions *)

Section OfALaunch.
  Context {L : launch}.

  Definition event := (block * id L)%type.

  (** A candidate for an execution: which op executions took place, what each gave back, where each byte that was read
      came from ([None]: from the memory at the beginning), and an order of all writes, which for the writes to one
      byte is its modification order. *)
  Record execution := {
    performed : event -> Prop;
    got : block -> results (id L);
    source : event -> addr -> option event;
    modifications : list event
  }.

  Section OfAnExecution.
    Variable E : execution.

    (** The access that an event is. *)
    Definition access_of (e : event) : option (access (array L)) := does (fst e) (got E (fst e)) (snd e).

    Definition is_access (e : event) (a : access (array L)) : Prop := performed E e /\ access_of e = Some a.

    Definition writes_to (e : event) (x : addr) : Prop :=
      exists a, is_access e a /\ writes a = true /\ In x (bytes a).

    (** [e] left [v] at byte [x]. *)
    Definition leaves (e : event) (x : addr) (v : val) : Prop :=
      exists a l, is_access e a /\ writes a = true /\ In x (bytes a) /\
        got E (fst e) (snd e) = Some l /\ v = written_by a l x.

    (** [e] finds [v] at byte [x]. *)
    Definition finds (e : event) (x : addr) (v : val) : Prop :=
      match source E e x with
      | None => v = initial L x
      | Some w => leaves w x v
      end.

    Definition reads_at (e : event) (x : addr) : Prop :=
      exists a, is_access e a /\ reads a = true /\ In x (bytes a).

    (** [e] cannot be there without [c]: it depends on it, or reads from it. *)
    Definition causes (c e : event) : Prop :=
      performed E c /\ performed E e /\
      ((fst c = fst e /\ depends (snd e) (snd c) = true) \/ (exists x, reads_at e x /\ source E e x = Some c)).

    (** What every execution keeps, whether or not it has a race: what takes place is what blocks do; values come from
        writes that took place, or from the beginning; and they do not come out of thin air.  (A finite execution
        without a cycle of [causes] keeps the last.) *)
    Record possible : Prop := {
      only_blocks_of_the_grid : forall e, performed E e -> in_grid L (fst e);
      only_what_blocks_do : forall e, performed E e -> access_of e <> None;
      nothing_from_nowhere : forall b i l, got E b i = Some l -> performed E (b, i);
      values_have_sources : forall e a, is_access e a ->
        exists l, got E (fst e) (snd e) = Some l /\
                  (if reads a then Forall2 (finds e) (bytes a) l else l = nil);
      no_thin_air : well_founded causes
    }.

    (** ** Happens-before *)

    (** [e] waits for [c], in one block. *)
    Definition token_before (c e : event) : Prop :=
      performed E c /\ performed E e /\ fst c = fst e /\ waits (fst e) (got E (fst e)) (snd e) (snd c).

    (** [r] reads what [s] wrote, or what a chain of atomic read-modify-writes made of it. *)
    Inductive observes (s : event) : event -> Prop :=
      | reads_from_it : forall r x, reads_at r x -> source E r x = Some s -> observes s r
      | reads_from_chain : forall m a r x, observes s m -> is_access m a -> kind_of a = Rmw ->
          reads_at r x -> source E r x = Some m -> observes s r.

    Definition synchronises (s r : event) : Prop :=
      exists a a', is_access s a /\ is_access r a' /\ releases a = true /\ acquires a' = true /\
        scope_includes a (fst s) (fst r) /\ scope_includes a' (fst r) (fst s) /\ observes s r.

    Inductive happens_before : event -> event -> Prop :=
      | by_token : forall c e, token_before c e -> happens_before c e
      | by_synchronisation : forall s r, synchronises s r -> happens_before s r
      | by_both : forall c d e, happens_before c d -> happens_before d e -> happens_before c e.

    (** ** Races *)

    (** Lanes of one atomic op do not conflict. *)
    Definition lanes_of_one_atomic (e e' : event) (a : access (array L)) : Prop :=
      fst e = fst e' /\ same_op (snd e) (snd e') = true /\ kind_of a = Rmw.

    Definition conflict (e : event) a (e' : event) a' : Prop :=
      e <> e' /\ is_access e a /\ is_access e' a' /\ share_a_byte a a' /\
      (writes a = true \/ writes a' = true) /\ ~ lanes_of_one_atomic e e' a.

    Definition race (e e' : event) : Prop :=
      exists a a', conflict e a e' a' /\
        ~ happens_before e e' /\ ~ happens_before e' e /\ ~ morally_strong (fst e) a (fst e') a'.

    (** ** What executions without a race keep besides *)

    Definition in_order (w w' : event) : Prop := precedes (modifications E) w w'.

    (** Coherence and atomicity, at the bytes of [place].  Only determinism and protocols need them. *)
    Record coherent_at (place : addr -> Prop) : Prop := {
      all_writes : forall w, In w (modifications E) <-> exists x, place x /\ writes_to w x;
      each_write_once : NoDup (modifications E);
      order_of_writes : forall w w' x, place x ->
        writes_to w x -> writes_to w' x -> happens_before w w' -> in_order w w';
      reads_the_latest : forall e x w w', place x -> reads_at e x -> source E e x = Some w ->
        writes_to w' x -> happens_before w' e -> ~ in_order w w';
      reads_nothing_later : forall e x w w', place x -> reads_at e x -> source E e x = Some w ->
        writes_to w' x -> happens_before e w' -> in_order w w';
      reads_the_beginning : forall e x w', place x -> reads_at e x -> source E e x = None ->
        writes_to w' x -> ~ happens_before w' e;
      (** What an atomic read-modify-write reads comes before it, and no morally strong write between them. *)
      atomic_source : forall e a x w a', place x -> is_access e a -> kind_of a = Rmw -> In x (bytes a) ->
        source E e x = Some w -> is_access w a' ->
        morally_strong (fst e) a (fst w) a' -> in_order w e;
      atomicity : forall e a x w w' a', place x -> is_access e a -> kind_of a = Rmw -> In x (bytes a) ->
        source E e x = Some w -> is_access w' a' -> writes_to w' x -> e <> w' ->
        morally_strong (fst e) a (fst w') a' -> in_order w' e -> w' = w \/ in_order w' w;
      atomicity_at_first : forall e a x w' a', place x -> is_access e a -> kind_of a = Rmw -> In x (bytes a) ->
        source E e x = None -> is_access w' a' -> writes_to w' x -> e <> w' ->
        morally_strong (fst e) a (fst w') a' -> ~ in_order w' e
    }.

    Definition everywhere (x : addr) : Prop := True.
    Definition coherent : Prop := coherent_at everywhere.

    (** Every block has done all that it does. *)
    Definition complete : Prop :=
      forall b i, in_grid L b -> does b (got E b) i <> None -> performed E (b, i).

    (** What a byte holds in the end: what the last write to it left. *)
    Definition finally (x : addr) (v : val) : Prop :=
      (exists p w q, modifications E = p ++ w :: q /\ leaves w x v /\ forall w', In w' q -> ~ writes_to w' x)
      \/ ((forall w, ~ writes_to w x) /\ v = initial L x).
  End OfAnExecution.

  (** ** Faults besides races *)

  (** An element of [n] bytes that begins at [start]. *)
  Definition element (start : addr) (n : nat) : list addr :=
    map (fun k => (start + Z.of_nat k)%Z) (seq 0 n).

  Definition aligned (a : access (array L)) : Prop :=
    exists n, bytes a = element (n * Z.of_nat (width a))%Z (width a).

  Definition inside (a : access (array L)) : Prop := forall x, In x (bytes a) -> region (origin a) x.

  (** An access outside its array or not at a multiple of its size, or a broken demand. *)
  Definition fault (E : execution) (e : event) : Prop :=
    exists a, is_access E e a /\ ~ (inside a /\ aligned a /\ forall d, demands a d).
End OfALaunch.

Arguments event : clear implicits.
Arguments execution : clear implicits.
