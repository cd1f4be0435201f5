import { setTimeout as delay } from 'node:timers/promises'

/** A fault of a plan, with its timing relative to the previous fault. */
export interface PlannedFault<K extends string> {
  readonly kind: K
  /**
   * Index of the affected API. Some tests also derive the affected worker from this index. Faults of other parts ignore
   * it.
   */
  readonly api: number
  /** How long the fault lasts. */
  readonly holdMs: number
  /** Pause before the fault. */
  readonly gapMs: number
  /** Whether the fault may begin before the previous one has ended. */
  readonly overlaps: boolean
}

export interface Inflicting<F> {
  /** Returns the parts that a fault affects. Faults of the same part wait for each other. */
  partsOf(fault: F): readonly string[]
  /** Applies a fault. Resolves when the affected part is running again. */
  suffer(fault: F): Promise<void>
  say(text: string): void
}

/** Applies faults one after another, except those that are planned to overlap. */
export async function inflictInTurn<F extends PlannedFault<string>>(
  faults: readonly F[],
  { partsOf, suffer, say }: Inflicting<F>,
): Promise<void> {
  const turns = new Map<string, Promise<unknown>>()

  function inTurn(fault: F): Promise<void> {
    const parts = partsOf(fault)
    const turn = Promise.all(parts.map((part) => turns.get(part))).then(async () => {
      const startedAt = Date.now()
      await suffer(fault)
      say(`${fault.kind} of ${fault.holdMs} ms, index ${fault.api}, took ${Date.now() - startedAt} ms`)
    })
    for (const part of parts) turns.set(part, turn)
    // Prevents an unhandled rejection. `allEnded` reports the error.
    turn.catch(() => undefined)
    return turn
  }

  const inflicted: Promise<void>[] = []
  for (const fault of faults) {
    if (!fault.overlaps) await allEnded(inflicted)
    await delay(fault.gapMs)
    inflicted.push(inTurn(fault))
  }
  await allEnded(inflicted)
}

/**
 * Waits for all faults.
 * @throws the error of the fault that failed; AggregateError with the messages of all errors if several faults failed
 */
async function allEnded(inflicted: readonly Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(inflicted)
  // When a fault fails, the faults of the same part that wait for it fail with the same error.
  const errors = [...new Set(outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : [])))]
  if (errors.length === 1) throw errors[0]
  if (errors.length > 1)
    throw new AggregateError(errors, `${errors.length} faults failed: ${errors.map(({ message }) => message).join('; ')}`)
}
