(** What every main theorem rests on, printed when this file is compiled: nothing but Coq itself. *)

From TileVerify Require Import RaceFree Bounds Atomics Determinism Example AtomicExample Commuting Reduction.
From TileVerify Require Import Words Lemmas Protocols Counters.

Print Assumptions race_free.
Print Assumptions race_free_with_protocols.
Print Assumptions deterministic.
Print Assumptions same_but_for_results_of_atomics.
Print Assumptions updates_commute.
Print Assumptions holds_in_every_execution.
Print Assumptions fault_free.
Print Assumptions promises_in_program_order.
Print Assumptions one_width_is_one_element.
Print Assumptions proved.
Print Assumptions copy_obligations.
Print Assumptions copy_coherent.
Print Assumptions copy_ends_as_written.
Print Assumptions copy_race.
Print Assumptions counting_obligations.
Print Assumptions counting_is_harmless.
Print Assumptions counted_proper.
Print Assumptions all_schemas.
Print Assumptions signed_fits.
Print Assumptions count.
Print Assumptions bounds_of_additions.
Print Assumptions bounds_of_loads.
Print Assumptions tickets.
Print Assumptions enough_have_added.
Print Assumptions enough_have_added_besides.
Print Assumptions one_of_each_rank.
Print Assumptions by_phase.
Print Assumptions reserved.
Print Assumptions published.
Print Assumptions by_source.
Print Assumptions by_turn.
Print Assumptions given_between.
Print Assumptions given_before_taken.
Print Assumptions addition_gives_back.
Print Assumptions different_tickets.
Print Assumptions by_count.
