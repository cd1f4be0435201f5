import { expect, test } from 'vitest'
import { playInTime } from '../../tools/pace.ts'

interface Played {
  readonly at: number
}

async function play(
  times: readonly number[],
  options: { flushMs?: number; fullAfter?: number; stopAt?: number } = {},
): Promise<[number, number][]> {
  const events: Played[] = times.map((at) => ({ at }))
  const sent: [at: number, sentAt: number][] = []
  let now = 0
  let queued = 0
  await playInTime({
    next: () => events.shift(),
    send({ at }) {
      sent.push([at, now])
      queued++
    },
    isFull: () => queued >= (options.fullAfter ?? Number.POSITIVE_INFINITY),
    async flush() {
      now += options.flushMs ?? 0
      queued = 0
    },
    now: () => now,
    async pause(ms) {
      now += ms
    },
    stopped: () => now >= (options.stopAt ?? Number.POSITIVE_INFINITY),
  })
  return sent
}

test('each event is sent when it is due or up to 100 ms later, but never earlier', async () => {
  const sent = await play([0, 30, 120, 500])
  expect(sent).toHaveLength(4)
  expect(sent.every(([at, sentAt]) => sentAt >= at && sentAt <= at + 100)).toBe(true)
})

test('while the queue is full, sending waits for the flush', async () => {
  const sent = await play([0, 0, 0, 0, 0], { flushMs: 50, fullAfter: 2 })
  expect(sent.map(([, sentAt]) => sentAt)).toEqual([0, 0, 50, 50, 100])
})

test('sending ends once the stream is stopped', async () => {
  expect(await play([0, 1_000, 5_000], { stopAt: 2_000 })).toHaveLength(2)
})
