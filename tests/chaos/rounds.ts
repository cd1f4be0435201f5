import { join } from 'node:path'
import { expect, onTestFailed } from 'vitest'
import { chaosConfig, chaosHome } from './config.ts'
import type { PlannedFault } from './in-turn.ts'
import { type Judged, keepEvidence } from './judge.ts'

/** Time limit for the start and the end of a system with all its servers. */
export const SETUP_TIMEOUT_MS = 240_000

interface Plan {
  readonly seed: number
  readonly faults: readonly PlannedFault<string>[]
}

interface Result extends Judged<unknown> {
  readonly summary: string
}

/** A test that applies faults to a service, in rounds. */
export interface FaultRounds<P extends Plan, R extends Result> {
  /** Prefix of the names of folders with the evidence of failed rounds. */
  readonly name: string
  /**
   * Applies the faults of a plan, and judges the result.
   * @param number number of the round, from 0
   */
  play(plan: P, number: number): Promise<R>
  /**
   * Copies the logs of the system to a folder.
   * @returns the folder
   */
  keepLogs(target: string): Promise<string>
}

export function say(text: string): void {
  process.stderr.write(`chaos: ${text}\n`)
}

/** Prints the seed and the number of rounds. */
export function announce(): void {
  const { seed, rounds } = settings
  say(`CHAOS_SEED=${seed} CHAOS_ROUNDS=${rounds}`)
}

/** The settings, read once, because a seed that is not set is drawn at random. */
export const settings = chaosConfig()

/**
 * Returns the faults that `CHAOS_PARTS` names; all faults if it is not set.
 * @throws Error if it names an unknown fault
 */
export function chosenFaults<K extends string>(all: readonly K[]): readonly K[] {
  const { parts } = settings
  const unknown = (parts ?? []).filter((part) => !all.includes(part as K))
  if (unknown.length > 0) throw new Error(`CHAOS_PARTS contains the unknown faults ${unknown.join(', ')}; choose from ${all.join(', ')}`)
  return (parts as readonly K[] | undefined) ?? all
}

/** Runs all rounds even if some results are wrong, and keeps the evidence of wrong results. */
export async function playRounds<P extends Plan, R extends Result>(
  draw: (seed: number, number: number) => P,
  { name, play, keepLogs }: FaultRounds<P, R>,
): Promise<void> {
  const failed: Record<string, readonly string[]> = {}
  for (let number = 0; number < settings.rounds; number++) {
    const plan = draw(settings.seed + number, number)
    const folder = join(chaosHome(), `${name}-${plan.seed}`)
    say(`seed ${plan.seed}: ${plan.faults.map(({ kind, overlaps }) => (overlaps ? `+${kind}` : kind)).join(', ')}`)
    const result = await play(plan, number).catch(async (error: Error) => {
      // Saving the logs may fail as well, so the original error is printed first.
      say(`seed ${plan.seed}: ${error.stack}`)
      say(`logs: ${await keepLogs(folder)}`)
      throw error
    })
    say(`seed ${plan.seed}: ${result.faults.length} faults; ${result.summary}`)
    if (result.faults.length === 0) continue
    say(`logs: ${await keepLogs(folder)}`)
    keepEvidence(join(folder, 'evidence.json'), result, plan)
    failed[`seed ${plan.seed}`] = result.faults
  }
  expect(failed).toEqual({})
}

/** Runs one round, and keeps the evidence if the test fails. */
export async function playShortRound<P extends Plan, R extends Result>(
  { name, play, keepLogs }: FaultRounds<P, R>,
  plan: P,
): Promise<void> {
  const folder = join(chaosHome(), `${name}-short-${plan.seed}`)
  onTestFailed(async () => say(`logs: ${await keepLogs(join(folder, 'logs'))}`))
  const result = await play(plan, 0)
  say(result.summary)
  if (result.faults.length > 0) keepEvidence(join(folder, 'evidence.json'), result, plan)
  expect(result.faults).toEqual([])
}
