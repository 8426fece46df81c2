(** From terms to the machine (docs/soundness.md, sections 4, 6 and 7): the verifier asks its questions of an access
    summary, over variables.  That the summary covers what blocks do is a hypothesis here ([covers]): it is the part of
    the argument that is about the symbolic executor, and is not mechanised. *)

From Coq Require Import ZArith List Bool.
From TileVerify Require Import Machine Obligations RaceFree Bounds.

(** An access summary.  Terms are functions of three kinds of variables: those of the launch, which all blocks share;
    those of the block, which its copies rename (its number, and a symbol for each of its loads); and those of an
    iteration and of a lane. *)
Record summary := {
  site : Type; (* ops of the text that touch memory or demand something *)
  array_name : Type;
  of_launch : Type;
  of_block : Type;
  of_iteration : Type;
  of_lane : Type;
  in_contract : of_launch -> Prop;
  bid : of_block -> block;
  guard : site -> of_launch -> of_block -> of_iteration -> of_lane -> Prop;
  footprint : site -> of_launch -> of_block -> of_iteration -> of_lane -> list addr;
  awaits : site -> site -> of_launch -> of_block -> of_iteration -> of_iteration -> Prop;
  condition : site -> demand -> of_launch -> of_block -> of_iteration -> of_lane -> Prop;
  site_kind : site -> kind;
  site_scope : site -> option scope;
  site_width : site -> nat;
  site_array : site -> array_name;
  extent : array_name -> of_launch -> addr -> Prop;
  written_array : array_name -> Prop
}.
Arguments bid {_}. Arguments guard {_}. Arguments footprint {_}. Arguments awaits {_}. Arguments condition {_}.
Arguments site_kind {_}. Arguments site_scope {_}. Arguments site_width {_}. Arguments site_array {_}.
Arguments extent {_}. Arguments written_array {_}. Arguments in_contract {_}.

Section Questions.
  Variable S : summary.
  Implicit Types (s : site S) (v : of_launch S) (o : of_block S) (k : of_iteration S) (l : of_lane S).

  Definition site_writes s : bool := match site_kind s with Store | Rmw => true | Load | NoAccess => false end.
  Definition covering_scope s : Prop :=
    match site_scope s with Some (DeviceScope | SystemScope) => True | Some BlockScope | None => False end.
  Definition is_weak s : Prop := site_scope s = None.

  (** A byte of both footprints. *)
  Definition footprints_meet s v o k l s' o' k' l' : Prop :=
    exists x, In x (footprint s v o k l) /\ In x (footprint s' v o' k' l').

  (** ** The questions, as written in verifier/obligations/obligations.py: none has a solution *)

  (** [g and g' and bid != bid' and f meets f']: two copies of the block with all variables but the launch's renamed. *)
  Definition block_copies s v o k l s' o' k' l' : Prop :=
    in_contract v /\ guard s v o k l /\ guard s' v o' k' l' /\ bid o <> bid o' /\ footprints_meet s v o k l s' o' k' l'.

  Definition asked_TV101 : Prop := forall s v o k l s' o' k' l',
    is_weak s -> is_weak s' -> site_writes s = true -> site_writes s' = true ->
    ~ block_copies s v o k l s' o' k' l'.

  Definition asked_TV102 : Prop := forall s v o k l s' o' k' l',
    is_weak s -> is_weak s' -> site_writes s <> site_writes s' ->
    ~ block_copies s v o k l s' o' k' l'.

  Definition asked_TV103 : Prop := forall s v o k l s' o' k' l',
    ~ (is_weak s /\ is_weak s') -> (site_writes s = true \/ site_writes s' = true) ->
    ~ (covering_scope s /\ covering_scope s' /\ site_width s = site_width s') ->
    ~ block_copies s v o k l s' o' k' l'.

  (** [g and g' and k != k' and f meets f' and not w and not w']: the block's variables are shared. *)
  Definition asked_TV201 : Prop := forall s v o k l s' k' l',
    (site_writes s = true \/ site_writes s' = true) ->
    ~ (site_scope s <> None /\ site_scope s' <> None /\ site_width s = site_width s') ->
    in_contract v -> guard s v o k l -> guard s' v o k' l' -> (s, k) <> (s', k') ->
    footprints_meet s v o k l s' o k' l' ->
    awaits s s' v o k k' \/ awaits s' s v o k' k.

  (** [g and l != l' and f(l) meets f(l')]. *)
  Definition asked_TV202 : Prop := forall s v o k l l',
    site_kind s = Store -> is_weak s ->
    in_contract v -> guard s v o k l -> guard s v o k l' -> l <> l' -> footprints_meet s v o k l s o k l' -> False.

  Definition asked_TV302 : Prop := forall s v o k l,
    in_contract v -> guard s v o k l ->
    (forall x, In x (footprint s v o k l) -> extent (site_array s) v x) /\
    (exists n, footprint s v o k l = element (n * Z.of_nat (site_width s))%Z (site_width s)).

  (** TV301, TV303, TV401, TV402: [g and not condition]. *)
  Definition asked_conditions : Prop := forall s d v o k l,
    in_contract v -> guard s v o k l -> condition s d v o k l.

  Definition asked_written : Prop := forall s, site_writes s = true -> written_array (site_array s).

  Record questions_answered : Prop := {
    answered_TV101 : asked_TV101; answered_TV102 : asked_TV102; answered_TV103 : asked_TV103;
    answered_TV201 : asked_TV201; answered_TV202 : asked_TV202; answered_TV302 : asked_TV302;
    answered_conditions : asked_conditions; answered_written : asked_written
  }.
End Questions.

(** ** Covering *)

(** The summary covers a launch: its values [v] satisfy the contract, and for every block, and whatever it may have
    read, there is an assignment of the block's variables under which every access that the block makes is one of the
    site, iteration and lane that its [id] names; whom the summary says that it waits for, it does wait for. *)
Record covers (S : summary) (L : launch) (v : of_launch S) (written : array L -> Prop) := {
  site_of : id L -> site S;
  iteration_of : id L -> of_iteration S;
  lane_of : id L -> of_lane S;
  name_of : array L -> array_name S;
  launch_in_contract : in_contract v;
  ids_are_told_apart : forall i j,
    site_of i = site_of j -> iteration_of i = iteration_of j -> lane_of i = lane_of j -> i = j;
  one_op : forall i j, same_op i j = true <-> site_of i = site_of j /\ iteration_of i = iteration_of j;
  regions : forall A x, extent (name_of A) v x -> region A x;
  written_arrays : forall A, written_array (name_of A) -> written A;
  assignment : forall b r, in_grid L b -> allowed written b r -> exists o, bid o = b /\
    (forall i a, does b r i = Some a ->
      guard (site_of i) v o (iteration_of i) (lane_of i) /\
      bytes a = footprint (site_of i) v o (iteration_of i) (lane_of i) /\
      kind_of a = site_kind (site_of i) /\ scoped a = site_scope (site_of i) /\
      width a = site_width (site_of i) /\ name_of (origin a) = site_array (site_of i) /\
      (forall d, condition (site_of i) d v o (iteration_of i) (lane_of i) -> demands a d)) /\
    (forall i j, does b r i <> None -> does b r j <> None ->
      awaits (site_of i) (site_of j) v o (iteration_of i) (iteration_of j) -> waits b r i j)
}.
