"""Runs the attacks that hrmdoc is held to, and prints which were tried and which were held off.

    python -m tests.attacks

Each line is an attack, and the tests that make it. What cannot be tried here, for want of namespaces or of
root, is named with its reason. The exit status is 1 where an attack got through or a test is missing.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ATTACKS: dict[str, tuple[str, ...]] = {
    "settings of a folder run a command, send or act": (
        "cli/test_trust.py::test_an_alert_of_a_folder_runs_only_once_its_settings_are_trusted",
        "cli/test_trust.py::test_trust_ends_with_the_content_that_was_trusted",
        "cli/test_trust.py::test_a_file_below_a_folder_that_others_may_write_to_is_never_trusted",
        "cli/test_trust.py::test_settings_planted_in_a_folder_end_a_command_with_their_name_at_most",
        "cli/test_trust.py::test_acting_by_a_policy_that_is_not_trusted_is_refused_with_the_way_out",
    ),
    "a planted link leads writing elsewhere": (
        "cli/test_trust.py::test_a_link_planted_in_a_run_is_not_followed_on_writing",
        "remedies/test_store.py::test_a_planted_link_for_the_backups_is_not_followed",
        "remedies/test_store.py::test_a_link_that_was_swapped_in_is_not_followed",
        "trainer/rundir/test_control.py::test_a_link_is_no_action_and_its_target_stays",
    ),
    "a pipe, link, device or endless file in the place of what is kept": (
        "live/test_journal.py::test_what_is_planted_in_its_place_is_neither_waited_for_nor_read",
        "live/test_actionlog.py::test_a_planted_record_is_no_record",
        "supervision/test_state.py::test_a_pipe_in_the_place_of_a_state_or_status_is_not_waited_for",
        "test_beats.py::test_a_pipe_in_the_place_of_a_heartbeat_hangs_nobody",
        "test_beats.py::test_a_folder_in_the_place_of_a_heartbeat_holds_no_file_open",
        "live/many/test_leases.py::test_folders_planted_among_the_watchers_hold_no_file_open",
        "web/test_workers.py::test_planted_journals_hold_up_no_page",
    ),
    "the state of a supervisor is forged": (
        "supervision/test_state.py::test_the_log_of_an_attempt_lies_beside_the_first_whatever_the_state_says",
        "supervision/test_state.py::test_a_log_that_found_no_room_there_is_found_where_it_was_kept",
        "supervision/test_state.py::test_a_state_nested_without_end_is_no_state",
    ),
    "a yes is planted in a received run, or an id is a path": (
        "live/test_consent.py::test_who_prepared_a_folder_cannot_know_the_id_of_a_request",
        "live/test_consent.py::test_an_id_is_no_path",
        "live/test_consent.py::test_an_answer_does_not_follow_a_planted_folder",
        "live/test_consent.py::test_a_planted_record_asks_for_nothing_and_reaches_no_terminal",
    ),
    "a cache is replaced, damaged or held by another": ("fleet/test_store.py",),
    "a name in object storage leads elsewhere": (
        "readers/sources/test_remote.py::test_a_name_in_a_store_opens_no_other_place",
    ),
    "one run holds up the served pages of all": (
        "web/test_workers.py::test_work_that_does_not_end_is_broken_off",
        "web/test_workers.py::test_a_run_that_cannot_be_drawn_is_said_so_on_its_page",
    ),
    "a run names a config outside its folder": (
        "cli/test_commands.py::test_a_config_outside_the_runs_folder_is_patched_once_the_command_line_names_it",
        "cli/test_python_configs.py::test_a_log_cannot_name_a_config_outside_its_folder",
    ),
    "secrets leave with a bundle or a report": (
        "text/test_redact.py",
        "cli/test_commands.py::test_a_bundle_holds_what_a_helper_asks_for_and_no_secret",
        "cli/test_commands.py::test_a_report_carries_neither_markup_nor_secrets_of_the_run",
    ),
    "a log brings about an action, or a record of actions is forged": (
        "live/test_consent.py",
        "live/test_actionlog.py",
        "supervision/test_verdict.py::test_a_log_that_claims_to_be_interrupted_is_neither_restarted_nor_left_uncounted_for_it",
        "supervision/test_resume.py::test_a_name_of_a_checkpoint_is_one_word_whatever_it_holds",
    ),
    "a log calls everybody, or an alert tells a secret": (
        "alerts/test_message.py",
        "alerts/test_targets.py::test_slack_gets_text_of_its_schema_in_which_a_log_calls_nobody",
        "alerts/test_targets.py::test_a_secret_is_never_said",
        "alerts/test_targets.py::test_a_redirection_is_not_followed_so_that_no_token_goes_elsewhere",
    ),
    "a text of a run is a command to a build, or a formula": (
        "cli/test_hostile_text.py",
        "reports/test_layout.py",
        "text/test_clean.py",
    ),
    "what a loop gives its monitor ends the training or the watch": (
        "integrations/test_monitor.py::test_a_value_that_exits_and_a_name_that_raises_cost_themselves_alone",
        "integrations/test_monitor.py::test_a_callback_that_exits_does_not_end_the_examination",
        "integrations/test_monitor.py::test_a_step_that_no_counter_reaches_is_passed_over",
        "integrations/test_monitor.py::test_a_logger_that_raises_does_not_reach_the_training",
        "integrations/test_monitor.py::test_what_is_planted_in_the_place_of_the_record_is_neither_followed_nor_waited_for",
        "integrations/test_monitor.py::test_names_made_up_at_every_step_are_examined_up_to_a_number",
    ),
    "an alert is lost, doubled or sent elsewhere": (
        "alerts/test_outbox.py",
        "alerts/test_worker.py",
        "test_beats.py::test_no_mistake_ends_a_training",
    ),
    "another site, host or user reaches the served pages": (
        "web/test_guard.py",
        "web/test_serve.py::test_it_listens_on_this_machine_alone",
        "web/test_changes.py::test_a_form_without_the_token_of_its_page_changes_nothing",
        "web/test_changes.py::test_only_what_was_patched_here_can_be_taken_back",
    ),
    "slow or too many clients hold up the served pages": ("web/test_connections.py",),
    "what a program prints of GPUs ends or holds up a watch": (
        "monitors/test_gpu.py::test_a_program_that_prints_without_end_is_read_in_part_and_ended",
        "monitors/test_gpu.py::test_a_program_that_does_not_answer_is_ended_with_all_that_it_started",
        "monitors/test_gpu.py::test_many_beginnings_of_json_in_what_amd_smi_printed_are_not_all_tried",
        "monitors/test_gpu.py::test_a_number_of_amd_smi_that_is_none_is_not_told",
        "monitors/test_gpu.py::test_what_names_no_gpu_or_process_in_amd_smi_is_passed_over",
    ),
    "a run leads the served pages outside of their folders": (
        "web/test_roots.py::test_links_lead_nowhere_outside",
        "web/test_roots.py::test_a_config_outside_is_neither_shown_nor_named_as_one_to_patch",
        "web/test_pages.py::test_what_is_not_there_is_said_so",
    ),
    "a run's texts become markup in a page": (
        "web/test_pages.py::test_hostile_names_and_lines_are_text",
        "web/test_pages.py::test_what_is_searched_for_is_text",
        "web/test_chromium.py::test_hostile_metrics_and_messages_run_nothing",
        "reports/test_review.py::test_hostile_names_and_lines_are_text",
    ),
    "a generated program leaves the sandbox": ("trainer/sandbox",),
    "a planted or damaged library is loaded": ("trainer/native/test_compiler.py",),
    "the end of hrmdoc ends the training": (
        "supervision/test_supervise.py::test_the_training_goes_on_where_its_supervisor_is_killed_or_its_terminal_lost",
        "supervision/test_supervise.py::test_signals_are_passed_on",
        "supervision/test_supervise.py::test_a_typo_in_the_settings_is_found_before_the_start",
    ),
    "a watch is ended, hung or doubled": (
        "live/test_follow.py",
        "live/test_journal.py",
        "cli/test_trust.py::test_a_journal_goes_on_when_there_is_room_again",
        "live/test_watch.py::test_a_file_whose_name_is_no_utf8_is_watched_and_its_diagnosis_kept",
        "live/test_watch.py::test_two_watches_of_one_run_record_an_incident_once",
        "live/test_treatment.py::test_of_two_watches_one_acts_and_the_other_goes_on_once_that_has_ended",
    ),
    "two trainers share a folder, or the last state is lost": (
        "trainer/commands/test_main.py::test_a_second_trainer_is_kept_out_of_a_folder_until_the_first_has_ended",
        "trainer/commands/test_main.py::test_a_run_whose_last_checkpoint_is_damaged_ends_with_an_error",
        "trainer/state/test_checkpoint.py::test_pruning_leaves_what_another_live_process_is_writing",
    ),
    "a small file asks for endless work": (
        "readers/test_hostile.py",
        "readers/sources/test_archives.py",
        "readers/log/test_growth.py",
        "record/test_best_first.py",
    ),
    "what could not be read passes for health": (
        "cli/test_words.py::test_a_torn_archive_is_not_called_healthy",
    ),
    "a full disk costs the file that was there": (
        "cli/test_commands.py::test_a_full_disk_leaves_what_was_written_before",
    ),
    "a patch loses owner, links, an entry or a file": ("remedies/test_store.py",),
    "a name of a file that is no Unicode ends a command": (
        "cli/test_hostile_text.py::test_half_a_character_of_a_log_or_of_its_name_is_written_as_unicode",
        "cli/test_hostile_text.py::test_every_command_takes_a_run_whose_name_is_no_unicode",
        "supervision/test_state.py::test_a_name_that_is_no_unicode_is_kept",
    ),
    "a second patch before the first has shown its effect": (
        "cli/test_apply.py::test_a_second_patch_waits_until_a_run_has_shown_the_effect_of_the_first",
    ),
    "too little memory passes for a fault of hrmdoc": (
        "cli/test_main.py::test_too_little_memory_is_said_with_the_way_out",
    ),
}


class Outcomes:
    """What became of each test, as pytest reports it."""

    def __init__(self) -> None:
        self.passed: set[str] = set()
        self.failed: set[str] = set()
        self.skipped: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)
        elif report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self.skipped[report.nodeid] = reason.removeprefix("Skipped: ")
        elif report.when == "call":
            self.passed.add(report.nodeid)

    def of(self, tests: tuple[str, ...]) -> tuple[int, int, Counter[str], list[str]]:
        """How many were tried and held, why how many could not be, and those that found no test."""
        tried = held = 0
        reasons: Counter[str] = Counter()
        missing = []
        for test in tests:
            own = [one for one in self.passed | self.failed if _belongs(one, test)]
            skipped = [why for one, why in self.skipped.items() if _belongs(one, test)]
            tried, held = tried + len(own), held + len(set(own) - self.failed)
            reasons.update(skipped)
            if not own and not skipped:
                missing.append(test)
        return tried, held, reasons, missing


def _belongs(nodeid: str, test: str) -> bool:
    name = nodeid.removeprefix("tests/")
    return name == test or name.startswith((f"{test}[", f"{test}::", f"{test}/"))


def main() -> int:
    """Runs all of them; 1 where one got through."""
    outcomes = Outcomes()
    wanted = dict.fromkeys(f"{ROOT}/tests/{test}" for tests in ATTACKS.values() for test in tests)
    options = ["-q", "--no-header", "--tb=short", "-p", "no:cacheprovider", f"--rootdir={ROOT}"]
    status = pytest.main([*options, *wanted], plugins=[outcomes])
    sys.stdout.write(f"\n{'attack':56} {'tried':>5} {'held':>5}\n")
    got_through = status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    for attack, tests in ATTACKS.items():
        tried, held, reasons, missing = outcomes.of(tests)
        got_through = got_through or held < tried or bool(missing)
        sys.stdout.write(f"{attack:56} {tried:5} {held:5}\n")
        for reason, count in reasons.items():
            sys.stdout.write(f"    {count} not tried here: {reason}\n")
        for test in missing:
            sys.stdout.write(f"    no such test: {test}\n")
    return int(got_through)


if __name__ == "__main__":
    sys.exit(main())
