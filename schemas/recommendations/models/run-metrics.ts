/** Names of the metrics of a training run, in the records of the run and of its version. */
export const NDCG_CANDIDATE = 'ndcg_candidate'
export const NDCG_IN_FORCE = 'ndcg_in_force'

/**
 * Users are grouped by their number of earlier interactions. Each group begins at one of these bounds, and ends before
 * the next bound.
 */
export const INTERACTION_GROUPS = [0, 1, 10, 50] as const

/** The quality that a training run measured for the users of a group. */
export interface GroupQuality {
  /** One of INTERACTION_GROUPS. */
  readonly from: number
  /** Number of test cases. */
  readonly questions: number
  /**
   * Mean NDCG@20 of the candidate's lists. `inForce` is the mean for the model in force or, if there is none, for lists
   * that are made by rules.
   */
  readonly candidate: number
  readonly inForce: number
}

/** Returns the lower bound of the group to which a number of interactions belongs. */
export function interactionGroup(interactions: number): number {
  return INTERACTION_GROUPS.findLast((from) => from <= interactions)!
}

export function groupMetrics({ from, questions, candidate, inForce }: GroupQuality): Record<string, number> {
  return {
    [`questions_from_${from}`]: questions,
    [`${NDCG_CANDIDATE}_from_${from}`]: candidate,
    [`${NDCG_IN_FORCE}_from_${from}`]: inForce,
  }
}

/** Reads the metrics that `groupMetrics` has written. Groups without test cases are absent. */
export function groupsOf(metrics: Readonly<Record<string, number>>): GroupQuality[] {
  return INTERACTION_GROUPS.flatMap((from) => {
    const questions = metrics[`questions_from_${from}`]
    if (questions === undefined) return []
    return [{ from, questions, candidate: metrics[`${NDCG_CANDIDATE}_from_${from}`], inForce: metrics[`${NDCG_IN_FORCE}_from_${from}`] }]
  })
}
