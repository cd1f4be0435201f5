import { expect, test } from 'vitest'
import { groupView } from '../../kafka/group-view.ts'
import type { GroupPeer } from '../../kafka/transport.ts'

const peers = (...ids: string[]): GroupPeer[] => ids.map((memberId) => ({ memberId }) as GroupPeer)

/** Creates a fake group. The test itself answers the requests for the members of the group. */
function heldGroup() {
  const requests: ((members: GroupPeer[]) => void)[] = []
  return {
    requests,
    members: () => new Promise<GroupPeer[]>((resolve) => requests.push(resolve)),
  }
}

test('callers share the answer to one request until the answer is older than they accept', async () => {
  const group = heldGroup()
  let now = 0
  const view = groupView(group, { monotonic: () => now })
  const first = view.members(100)
  const second = view.members(100)
  group.requests[0](peers('a'))
  expect(await first).toEqual(peers('a'))
  expect(await second).toEqual(peers('a'))
  now = 100
  expect(await view.members(100)).toEqual(peers('a'))
  expect(group.requests.length).toBe(1)
  now = 101
  void view.members(100)
  expect(group.requests.length).toBe(2)
})

test('once the group has changed, later callers do not get the answer to an earlier request', async () => {
  const group = heldGroup()
  const view = groupView(group, { monotonic: () => 0 })
  const early = view.members(100)
  view.forget()
  const late = view.members(100)
  expect(group.requests.length).toBe(2)
  group.requests[1](peers('a', 'b'))
  expect(await late).toEqual(peers('a', 'b'))
  group.requests[0](peers('a'))
  expect(await early).toEqual(peers('a'))
  expect(await view.members(100)).toEqual(peers('a', 'b'))
})
