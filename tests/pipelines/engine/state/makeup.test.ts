import { expect, test } from 'vitest'
import type { GroupPeer } from '../../../../kafka/transport.ts'
import { copiesNotice, makeupOf, NO_COPIES, nextMembers, notReady } from '../../../../pipelines/engine/state/makeup.ts'

const SOURCES = new Set(['lines', 'words'])

function peer(memberId: string, topics: readonly string[], notice?: string): GroupPeer {
  return { memberId, topics, notice, address: undefined, partitions: [] }
}

test('members that do not subscribe to any of the sources are learners', () => {
  const peers = [peer('a', ['lines', 'words']), peer('b', ['totals-changelog']), peer('c', ['words'])]
  expect(makeupOf(peers, SOURCES)).toEqual({ active: ['a', 'c'], learners: ['b'] })
})

test('learners become active in the order of their ids, and each learner prepares for the group that will exist when it becomes active', () => {
  const makeup = { active: ['b', 'e'], learners: ['a', 'c', 'd'] }
  expect(nextMembers(makeup, 'b')).toEqual(['a', 'b', 'e'])
  expect(nextMembers(makeup, 'a')).toEqual(['a', 'b', 'e'])
  expect(nextMembers(makeup, 'c')).toEqual(['a', 'b', 'c', 'e'])
  expect(nextMembers(makeup, 'd')).toEqual(['a', 'b', 'c', 'd', 'e'])
})

test('a notice is valid only for the active members and the next learner for which it was announced', () => {
  const makeup = { active: ['a', 'b'], learners: ['c', 'd'] }
  const notice = copiesNotice(makeup)
  expect(copiesNotice({ active: ['a', 'b'], learners: ['c'] })).toBe(notice)
  for (const other of [
    { active: ['a'], learners: ['c'] },
    { active: ['a', 'b'], learners: ['d'] },
    { active: ['a', 'b', 'c'], learners: ['d'] },
  ])
    expect(copiesNotice(other)).not.toBe(notice)
})

test('the group waits only for active workers that are able to announce their copies', () => {
  const makeup = { active: ['a', 'b', 'c', 'd'], learners: ['e'] }
  const notice = copiesNotice(makeup)
  const peers = [
    peer('a', ['lines'], notice),
    peer('b', ['lines'], NO_COPIES),
    peer('c', ['lines'], copiesNotice({ active: ['a'], learners: ['e'] })),
    peer('d', ['lines']),
    peer('e', ['totals-changelog'], NO_COPIES),
  ]
  expect(notReady(peers, makeup, notice)).toEqual(['b', 'c'])
})
