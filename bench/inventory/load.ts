import { setTimeout as delay } from 'node:timers/promises'
import type { Operation, Subject } from './subject.ts'

const MS_PER_SECOND = 1_000

interface Reserved {
  readonly variant: number
  readonly id: string
}

/**
 * Sends operations at a rate that does not depend on response times. Half of the operations reserve one unit. Each of
 * the others ends the oldest open reservation, alternately by a deduction and by a release. If no reservation is open,
 * it reserves one unit instead.
 * @param variantAt returns the variant of the nth reservation
 */
export async function operateAtRate(
  subject: Subject,
  { perSecond, seconds, variantAt }: { perSecond: number; seconds: number; variantAt: (index: number) => number },
): Promise<Operation[]> {
  const open: Reserved[] = []
  const pending: Promise<Operation>[] = []
  const startedAt = performance.now()
  let reservations = 0
  let endings = 0

  async function reserve(dueAt: number): Promise<Operation> {
    const variant = variantAt(reservations++)
    const id = await subject.reserve(variant)
    if (id !== undefined) open.push({ variant, id })
    return { kind: 'RESERVE', ms: performance.now() - dueAt, succeeded: id !== undefined }
  }

  async function end({ variant, id }: Reserved, dueAt: number): Promise<Operation> {
    const kind = endings++ % 2 === 0 ? 'DEDUCT' : 'RELEASE'
    const succeeded = await subject.end(variant, id, kind)
    return { kind, ms: performance.now() - dueAt, succeeded }
  }

  for (let index = 0; index < perSecond * seconds; index++) {
    const dueAt = startedAt + (index * MS_PER_SECOND) / perSecond
    const wait = dueAt - performance.now()
    if (wait > 0) await delay(wait)
    const oldest = index % 2 === 1 ? open.shift() : undefined
    pending.push(oldest === undefined ? reserve(dueAt) : end(oldest, dueAt))
  }
  return await Promise.all(pending)
}
