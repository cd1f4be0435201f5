import { expect, test } from 'vitest'
import { neighbourWatch } from '../../../kafka/client/neighbour-watch.ts'
import type { GroupPeer } from '../../../kafka/transport.ts'
import { manualRuntime } from '../../../runtime/manual.ts'

const MEMBERS_MAX_AGE_MS = 10_000

/** A group of members `a`, `b`, ..., each with an address, and the neighbour watch of one of them. */
function group(ids: string, own: string) {
  const runtime = manualRuntime()
  const ended = new Set<string>()
  /** Addresses of live processes that one check wrongly reports as ended. */
  const mistakenOnce = new Set<string>()
  const asked: string[] = []
  let members = [...ids].map((id) => peer(id))
  let reads = 0
  const watch = neighbourWatch({
    runtime: { ...runtime, sleep: async () => {} },
    groupId: 'group',
    memberId: () => own,
    async members() {
      reads++
      return members
    },
    async hasEnded(address) {
      asked.push(address)
      return mistakenOnce.delete(address) || ended.has(address)
    },
    async remove(memberId) {
      const isMember = members.some((member) => member.memberId === memberId)
      members = members.filter((member) => member.memberId !== memberId)
      return isMember
    },
    stopping: new AbortController().signal,
  })
  return {
    watch,
    runtime,
    ended,
    mistakenOnce,
    asked,
    ids: () => members.map(({ memberId }) => memberId).join(''),
    replace: (id: string, as: GroupPeer) => {
      members = members.map((member) => (member.memberId === id ? as : member))
    },
    reads: () => reads,
  }
}

function peer(memberId: string, address: string | undefined = `http://${memberId}`): GroupPeer {
  return { memberId, address, partitions: [], topics: [], notice: undefined }
}

test.each([
  ['abc', 'a', 'http://b'],
  ['abc', 'c', 'http://a'],
])('in the group %s, %s watches %s', async (ids, own, address) => {
  const { watch, asked } = group(ids, own)
  expect(await watch.look()).toBe(false)
  expect(asked).toEqual([address])
})

test('a member watches nobody if it is alone or its neighbour has no address', async () => {
  const alone = group('a', 'a')
  expect(await alone.watch.look()).toBe(false)
  const beside = group('ab', 'a')
  beside.replace('b', { ...peer('b'), address: undefined })
  expect(await beside.watch.look()).toBe(false)
  expect([...alone.asked, ...beside.asked]).toEqual([])
})

test('members whose processes ended together are removed one after another, and the other members stay', async () => {
  const { watch, ended, ids } = group('abcd', 'a')
  ended.add('http://b').add('http://c')
  expect(await watch.look()).toBe(true)
  expect(ids()).toBe('acd')
  expect(await watch.look()).toBe(true)
  expect(ids()).toBe('ad')
  expect(await watch.look()).toBe(false)
  expect(ids()).toBe('ad')
})

test('a member whose process has been restarted with another address is not removed', async () => {
  const { watch, ended, ids, replace } = group('ab', 'a')
  await watch.look()
  ended.add('http://b')
  replace('b', peer('b', 'http://next'))
  expect(await watch.look()).toBe(false)
  expect(ids()).toBe('ab')
})

test('a member is not removed because of a single wrong check of its address', async () => {
  const { watch, mistakenOnce, asked, ids } = group('ab', 'a')
  mistakenOnce.add('http://b')
  expect(await watch.look()).toBe(false)
  expect(asked).toEqual(['http://b', 'http://b'])
  expect(ids()).toBe('ab')
})

test('the list of members is read again only after it has exceeded its maximum age or the group has changed', async () => {
  const { watch, runtime, reads } = group('ab', 'a')
  await watch.look()
  await watch.look()
  expect(reads()).toBe(1)
  watch.forgetMembers()
  await watch.look()
  expect(reads()).toBe(2)
  runtime.advance(MEMBERS_MAX_AGE_MS + 1)
  await watch.look()
  expect(reads()).toBe(3)
})
