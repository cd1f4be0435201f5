import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const SETTLED_WITHIN_MS = 90_000
const JUDGE_EVERY_MS = 1_000
/** Pause after the first judgement without faults. The second judgement must confirm that the result stays correct. */
const STAYS_RIGHT_MS = 1_000

export interface Judged<E> {
  readonly faults: readonly string[]
  readonly evidence: E
}

/**
 * Judges repeatedly until a judgement finds no faults, or until the deadline. After a judgement without faults, judges
 * once more and returns the result of this last judgement.
 * @param onRight called after the first judgement without faults, before the second one
 */
export async function judgeUntilRight<E>(
  evidence: () => Promise<E>,
  faultsOf: (evidence: E) => readonly string[],
  onRight: () => void = () => undefined,
): Promise<Judged<E>> {
  const until = Date.now() + SETTLED_WITHIN_MS
  for (;;) {
    const first = await evidence()
    const faults = faultsOf(first)
    if (faults.length > 0 && Date.now() >= until) return { faults, evidence: first }
    if (faults.length > 0) {
      await delay(JUDGE_EVERY_MS)
      continue
    }
    onRight()
    await delay(STAYS_RIGHT_MS)
    const second = await evidence()
    return { faults: faultsOf(second), evidence: second }
  }
}

/** Writes all evidence of a failed round to a file, so that the verdict can be repeated from it. */
export function keepEvidence(file: string, { faults, evidence }: Judged<unknown>, plan: unknown): void {
  mkdirSync(dirname(file), { recursive: true })
  const text = (_key: string, value: unknown) =>
    value instanceof Map ? Object.fromEntries(value) : value === Infinity ? 'Infinity' : typeof value === 'bigint' ? String(value) : value
  writeFileSync(file, JSON.stringify({ faults, plan, evidence }, text, 1))
}

/** Describes the first difference between two lists; returns an empty array if they are equal. */
export function differences(what: string, expected: readonly string[], is: readonly string[]): string[] {
  const length = Math.max(expected.length, is.length)
  for (let at = 0; at < length; at++)
    if (expected[at] !== is[at])
      return [
        `${what}: entry ${at} of ${is.length} is ${is[at] ?? 'missing'} instead of ${expected[at] ?? 'the end'} (${expected.length} expected)`,
      ]
  return []
}

/** Returns how often each text occurs. */
export function countsOf(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return counts
}
