"""Reasons of lanes, rollouts, conditions and events. They are API: the reference's tables are made from these lines."""

from typing import Final

# Why a lane stands where it stands (`status.lanes[].reason`), and why a rollout ended (`status.history[].reason`).
STARTING: Final = "Starting"                          # the lane's first revision is not ready yet
SERVING: Final = "Serving"                            # the stable revision is the desired one and serves
STABLE_DOWN: Final = "StableDown"                     # the stable revision has no ready replica
REJECTED: Final = "Rejected"                          # the desired revision failed before; `retry` tries it again
DOES_NOT_FIT: Final = "DoesNotFit"                     # computed beforehand: the desired revision does not fit its GPUs, so it is not started
PAUSED: Final = "Paused"                              # `pause` holds the rollout where it is
LANE_ORDER: Final = "WaitingForEarlierLane"           # an earlier lane of the spec waits for a GPU
UNSCHEDULABLE: Final = "Unschedulable"                # the scheduler finds no node for the canary's pod; its words follow
NO_POD: Final = "NoPod"                               # no pod of the canary was created: a quota or an admission webhook refuses it
LOADING: Final = "Loading"                            # the canary's pods load the model
AWAITING_AGENTS: Final = "AwaitingRouters"            # not every router agent has acknowledged the routes yet
WARMING: Final = "WarmingUp"                          # the canary's first requests, whose latencies count for nothing
ANALYZING: Final = "Analyzing"                        # the canary has the step's weight and is judged
HOLDING: Final = "Holding"                            # the step is over but may not advance: too few requests, or `onInsufficient: Hold`
METRICS_UNAVAILABLE: Final = "MetricsUnavailable"     # no numbers: nothing is decided and the step's clock stands still
PROMOTING: Final = "Promoting"                        # the lane moves over to the canary, batch by batch
PROMOTED: Final = "Promoted"                          # the canary became the stable revision; no pod restarted
STABLE_REPLACED: Final = "StableReplaced"             # the stable could not serve, so the new revision took the lane without a trial
NO_HARM: Final = "NoEvidenceOfHarm"                   # the step ended without a Pass, with enough requests and no harm seen
PASSED: Final = "Passed"                              # the judge said Pass
COMMANDED: Final = "PromotedByCommand"                # `promote` ended the trial
CRASHED: Final = "CanaryCrashed"                      # the engine ended by itself; its last words follow
UNKNOWN_FLAG: Final = "UnknownFlag"                   # the engine refused its command line
OUT_OF_MEMORY: Final = "OutOfMemory"                  # the engine or the GPU ran out of memory
IMAGE: Final = "ImageError"                           # the image cannot be pulled
CONTAINER_CONFIG: Final = "ContainerConfigError"      # a Secret or ConfigMap that the pod names is missing
LOAD_DEADLINE: Final = "LoadDeadlineExceeded"         # not ready within `rollout.loadDeadline` of being scheduled
INSUFFICIENT: Final = "InsufficientEvidence"          # `onInsufficient: Rollback` and the step ended without a Pass
NOTHING_FOUND: Final = "NothingFound"                 # a trial of the unchanged revision ended as it should: nothing was wrong, nothing was found
FALSE_ALARM: Final = "FalseAlarm"                     # the judge would have rolled back an unchanged revision
ABORTED: Final = "Aborted"                            # `abort` ended the trial
SUPERSEDED: Final = "Superseded"                      # a newer change took the trial's place
REVERTED: Final = "Reverted"                          # the spec went back to the stable revision
LANE_REMOVED: Final = "LaneRemoved"                   # the lane left the spec during the trial

# Conditions.
READY: Final = "Ready"                                # every lane serves behind the router
LANES_NOT_READY: Final = "LanesNotReady"              # a lane has no ready replica that the router knows
ROUTER_NOT_READY: Final = "RouterNotReady"            # no router pod is ready
ROUTES_REJECTED: Final = "RoutesRejected"             # Envoy refused the routes; it keeps the last good ones
DIFFERS: Final = "DiffersFromSpec"                    # serves, but a lane runs another revision than the spec asks for
SPEC_INVALID: Final = "SpecInvalid"                   # the spec cannot be followed; the message names the field
ROLLOUT_REJECTED: Final = "RolloutRejected"           # a lane's desired revision was rolled back; a change or `retry` goes on
UNFIT: Final = "DoesNotFit"                           # a lane's desired revision does not fit its GPUs and was not started
PROGRESSING: Final = "Progressing"                    # something is still moving
SETTLED: Final = "Settled"                            # nothing is moving
AVAILABLE: Final = "MetricsRead"                      # the last window was read
NOT_CONFIGURED: Final = "NotConfigured"               # no Prometheus is named: canaries hold
NOT_NEEDED: Final = "NoCanary"                        # no canary has traffic, so nothing was read

# Events.
EVENT_LANE_CREATED: Final = "LaneCreated"             # a lane's first revision starts
EVENT_LANE_READY: Final = "LaneReady"                 # a lane's first revision serves
EVENT_LANE_REMOVED: Final = "LaneRemoved"             # a lane left the spec; its route goes first, its pods after
EVENT_STARTED: Final = "RolloutStarted"               # a canary is made
EVENT_EXPECTED: Final = "EvidenceExpected"            # what the steps can show at the lane's recent rate of requests, and what they cannot
EVENT_WAITING: Final = "RolloutWaiting"               # the canary cannot start; the message says why
EVENT_BASELINE_DROPPED: Final = "BaselineDropped"      # the fresh baseline cannot serve; the canary is compared with the stable instead
EVENT_READY: Final = "CanaryReady"                    # the canary is ready and every router knows it
EVENT_STEP: Final = "StepStarted"                     # the canary has a step's weight and is judged from now on
EVENT_STEP_ENDED: Final = "StepEnded"                 # a step ended well; with the numbers
EVENT_HOLDING: Final = "StepHeld"                     # a step is over and may not advance; with the numbers
EVENT_METRICS: Final = "MetricsUnavailable"           # no numbers: the rollout holds
EVENT_METRICS_BACK: Final = "MetricsAvailable"        # numbers again: the rollout goes on
EVENT_PROMOTING: Final = "Promoting"                  # the lane moves over
EVENT_PROMOTED: Final = "Promoted"                    # the canary is the stable
EVENT_ROLLING_BACK: Final = "RollingBack"             # the canary loses its traffic; why, with numbers
EVENT_ROLLED_BACK: Final = "RolledBack"               # the canary is gone
EVENT_TRIED: Final = "TrialEnded"                     # the trial of an unchanged revision is over; what the judge said of it
EVENT_SUPERSEDED: Final = "RolloutSuperseded"         # the trial ended without a verdict
EVENT_STABLE_DOWN: Final = "StableDown"               # the stable has no ready replica
EVENT_UNFIT: Final = "DoesNotFit"                     # a revision does not fit its GPUs; whether it is started all the same is `rollout.preflight`'s
EVENT_STALLED: Final = "SpecRefused"                  # the spec cannot be followed
EVENT_COMMAND: Final = "CommandFollowed"              # a command did something
EVENT_COMMAND_IGNORED: Final = "CommandIgnored"       # a command did nothing; the message says why
