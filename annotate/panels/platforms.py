"""Platforms: what a panel starts from, as each platform documents its links. Everything can be changed in the form."""

from dataclasses import dataclass

from annotate.models import Panel

Platform = Panel.Platform


@dataclass(frozen=True)
class Preset:
    """The parameters of a platform's link, what it puts into them, and how its participants go back.

    `values` are the placeholders that the platform replaces, in the order participant, session, study.
    """

    parameters: tuple[str, str, str]
    values: tuple[str, str, str]
    return_url: str
    where: str
    """Where on the platform the link is pasted, as a sentence."""
    adds_parameters: bool = False
    """Whether the platform adds the parameters to the link by itself."""


PRESETS = {
    Platform.PROLIFIC: Preset(
        parameters=("PROLIFIC_PID", "SESSION_ID", "STUDY_ID"),
        values=("{{%PROLIFIC_PID%}}", "{{%SESSION_ID%}}", "{{%STUDY_ID%}}"),
        return_url="https://app.prolific.com/submissions/complete?cc={code}",
        where="Paste it as the study’s external link, and choose “URL parameters” to record participants’ IDs.",
    ),
    Platform.CONNECT: Preset(
        parameters=("participantId", "assignmentId", "projectId"),
        values=("", "", ""),
        return_url="",
        where="Paste it as the project’s survey link. Connect adds its parameters by itself.",
        adds_parameters=True,
    ),
    Platform.SONA: Preset(
        parameters=("id", "", ""),
        values=("%SURVEY_CODE%", "", ""),
        return_url="",
        where="Paste it as the study URL. As the return address, paste SONA’s client-side completion URL, and write "
        "{participant} where it has XXXX.",
    ),
    Platform.GENERIC: Preset(
        parameters=("participant", "session", ""),
        values=("PARTICIPANT_ID", "SESSION_ID", ""),
        return_url="",
        where="Replace the words in capitals by your platform’s placeholders.",
    ),
}
