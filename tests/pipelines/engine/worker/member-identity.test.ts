import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { successorId } from '../../../../kafka/member-ids.ts'
import { idsWithoutMember, transactionalIdPrefix } from '../../../../pipelines/engine/worker/member-identity.ts'

const [dead, living] = [randomUUID(), randomUUID()]
const idOf = (topology: string, slot: string) => `${transactionalIdPrefix(topology)}${slot}`

test('a transactional id has no member if its slot is not in the group', () => {
  const ids = [idOf('words', dead), idOf('words', living)]
  expect(idsWithoutMember('words', ids, [living])).toEqual([idOf('words', dead)])
})

test('a member whose id was replaced still belongs to its slot', () => {
  expect(idsWithoutMember('words', [idOf('words', living)], [successorId(successorId(living, 'b'), 'c')])).toEqual([])
})

test('ids of other programs and of other topologies are ignored, even if the names of the topologies share a prefix', () => {
  const ids = [idOf('words-by-day', dead), idOf('other', dead), 'millrace-words-dlq', 'millrace-words-']
  expect(idsWithoutMember('words', ids, [])).toEqual([])
})
