import type { ModelHistory, ModelRequest, ModelVersion } from '../../../schemas/recommendations/types.ts'
import { NO_VERSIONS, promoted, rolledBack, type VersionHistory, withChallenger, withVersion } from '../../../state/versions/history.ts'

/** The history before the first model was trained. */
export const NO_MODELS: ModelHistory = {
  versions: [],
  champion: null,
  challenger: null,
  challenger_percent: 0,
  earlier: [],
  changed_at: 0,
}

/** Adds a trained version that does not answer requests yet. */
export function withTrained(models: ModelHistory, version: ModelVersion, now: number): ModelHistory {
  return recordOf(withVersion(historyOf(models), version), models.challenger_percent, now)
}

/** Adds a trained version and makes it the champion. */
export function withTrainedInForce(models: ModelHistory, version: ModelVersion, now: number): ModelHistory {
  const added = withVersion(historyOf(models), version)
  return recordOf(promoted(added, version.version) ?? added, models.challenger_percent, now)
}

/**
 * Carries out a request from an operator. Returns undefined if the request is not possible or changes nothing.
 * @param byTraining the version in force, if a training run has put it in force and no operator has chosen a version
 * since then
 */
export function withRequest(
  models: ModelHistory,
  request: ModelRequest,
  now: number,
  byTraining: string | undefined,
): ModelHistory | undefined {
  const history = historyOf(models)
  switch (request.action) {
    case 'PROMOTE':
      return changed(request.version === null ? undefined : promoted(history, request.version), models.challenger_percent)
    case 'ROLL_BACK':
      return changed(rolledBackFrom(history, request.version, byTraining), models.challenger_percent)
    case 'CHALLENGE':
      return changed(withChallenger(history, request.version ?? undefined), request.version === null ? 0 : request.percent)
    case 'TRAIN':
      return undefined
  }

  function changed(after: VersionHistory<ModelVersion> | undefined, percent: number): ModelHistory | undefined {
    return after === undefined || after === history ? undefined : recordOf(after, percent, now)
  }
}

/**
 * Takes a version out of force. If a training run has just replaced that version, the operator did not know the new
 * version yet. The request is then treated as if it had arrived before the end of that run. The predecessor of the
 * named version answers again, and the new version is kept without going into force.
 * @param version null in requests from earlier releases; it means the version in force
 */
function rolledBackFrom(
  history: VersionHistory<ModelVersion>,
  version: string | null,
  byTraining: string | undefined,
): VersionHistory<ModelVersion> | undefined {
  if (version === null || version === history.champion) return rolledBack(history)
  const isReplaced = byTraining !== undefined && byTraining === history.champion && history.earlier[0] === version
  const before = isReplaced ? rolledBack(history) : undefined
  return before && rolledBack(before)
}

function historyOf({ versions, champion, challenger, earlier }: ModelHistory): VersionHistory<ModelVersion> {
  if (versions.length === 0) return NO_VERSIONS
  return { versions, champion: champion ?? undefined, challenger: challenger ?? undefined, earlier }
}

function recordOf(history: VersionHistory<ModelVersion>, percent: number, now: number): ModelHistory {
  const { versions, champion = null, challenger = null, earlier } = history
  const challenger_percent = challenger === null ? 0 : percent
  return { versions: [...versions], champion, challenger, challenger_percent, earlier: [...earlier], changed_at: now }
}
