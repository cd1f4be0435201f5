import { expect, test } from 'vitest'
import type { MemberlessGroup } from '../../../../kafka/transport.ts'
import type { Lane } from '../../../../pipelines/engine/sinks/lane.ts'
import { offsetCommits } from '../../../../pipelines/engine/sinks/offset-commits.ts'

test('while Kafka is unavailable, a sink logs only the first failed commit, and later the recovery', async () => {
  let isDown = true
  const events: string[] = []
  const note = (_fields: object, event: string) => void events.push(event)
  const group = {
    groupId: 'values-view',
    async commit() {
      if (isDown) throw new Error('no broker can be reached')
    },
  } as unknown as MemberlessGroup
  const lane = { takeCommit: () => ({ topic: 'values', partition: 0, offset: 1 }), commitFailed() {} } as unknown as Lane
  const runtime = { monotonic: () => 0, log: { warn: note, info: note } } as unknown as Parameters<typeof offsetCommits>[1]['runtime']
  const commits = offsetCommits(group, { confirm: async () => undefined, everyMs: 0, runtime })
  for (let attempt = 0; attempt < 3; attempt++) await commits.commit([lane])
  isDown = false
  for (let attempt = 0; attempt < 2; attempt++) await commits.commit([lane])
  isDown = true
  await commits.commit([lane])
  expect(events).toEqual(['sink_commit_failed', 'sink_commit_recovered', 'sink_commit_failed'])
})
