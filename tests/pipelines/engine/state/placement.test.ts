import fc from 'fast-check'
import { expect, test } from 'vitest'
import { memoryBroker } from '../../../../kafka/memory/broker.ts'
import { rangeOwner, standbyOwners } from '../../../../pipelines/engine/state/placement.ts'

const memberIds = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 }).map((ids) => ids.sort())
const counts = fc.integer({ min: 1, max: 13 })

test('rangeOwner returns the member to which the assignor of the group assigns a partition', () => {
  fc.assert(
    fc.property(memberIds, counts, (members, partitions) => {
      const broker = memoryBroker()
      broker.createTopic({ name: 't', partitions })
      for (const member of members) broker.groups.join('g', member, ['t'])
      for (const member of members) {
        const event = broker.groups.takeEvent('g', member)
        const given = event?.type === 'assignment' ? event.partitions.map(({ partition }) => partition) : []
        const placed = Array.from({ length: partitions }, (_, partition) => partition).filter(
          (partition) => rangeOwner(members, partition, partitions) === member,
        )
        expect(given).toEqual(placed)
      }
    }),
  )
})

test('the first standby would get the partition if its owner left, and the second if the owner and the first standby left', () => {
  fc.assert(
    fc.property(memberIds, counts, fc.nat(), (members, partitions, number) => {
      const partition = number % partitions
      const owner = rangeOwner(members, partition, partitions)
      const survivors = members.filter((member) => member !== owner)
      const [first, second] = standbyOwners(members, partition, partitions, 2)
      expect(first).toBe(rangeOwner(survivors, partition, partitions))
      expect(second).toBe(
        rangeOwner(
          survivors.filter((member) => member !== first),
          partition,
          partitions,
        ),
      )
      expect(standbyOwners(members, partition, partitions, 0)).toEqual([])
    }),
  )
})

test('when any member leaves, a partition stays where it is or moves to its standby', () => {
  fc.assert(
    fc.property(memberIds, counts, fc.nat(), fc.nat(), (members, partitions, number, gone) => {
      const partition = number % partitions
      const left = members.filter((_, i) => i !== gone % members.length)
      const owner = rangeOwner(members, partition, partitions)
      const [standby] = standbyOwners(members, partition, partitions, 1)
      expect([owner, standby]).toContain(rangeOwner(left, partition, partitions))
    }),
  )
})
