import { begin, type Case } from './case.ts'
import type { Version } from './wire.ts'

const NONE = -1

/** Cases about offsets inside and outside of transactions, and about heartbeats of group members (KIP-848). */
export const groups: readonly Case[] = [
  ...([1, 2] as const).map(transactionalOffsets),
  {
    name: 'version 1: offsets are refused if the producer has not added their group',
    async run(wire) {
      const { topic, producer } = await begin(wire)
      const group = wire.name('group')
      return [await wire.commitInTransaction(producer, group, topic, 3, 1), await wire.committed(group, topic)]
    },
    answers: ['TRANSACTION_ABORTABLE', NONE],
  },
  {
    name: 'outside of transactions, an offset is committed at once, even if it is lower than the previous offset',
    async run(wire) {
      const [topic, group] = [await wire.topic(), wire.name('group')]
      return [
        await wire.commit(group, topic, 4),
        await wire.committed(group, topic),
        await wire.commit(group, topic, 2),
        await wire.committed(group, topic),
      ]
    },
    answers: ['NONE', 4, 'NONE', 2],
  },
  {
    name: 'a member can commit and read offsets only with its current epoch',
    async run(wire) {
      const { topic, producer } = await begin(wire)
      const group = wire.name('group')
      const memberId = wire.name('member')
      const joined = await wire.heartbeat(group, { memberId, epoch: 0 }, [topic], [])
      const member = { memberId, epoch: joined.epoch }
      const old = { memberId, epoch: joined.epoch - 1 }
      const ahead = { memberId, epoch: joined.epoch + 1 }
      const unknown = { memberId: wire.name('member'), epoch: joined.epoch }
      const answers: unknown[] = [joined.error, joined.assigned]
      for (const each of [member, old, ahead, unknown, undefined]) {
        answers.push(await wire.commit(group, topic, 1, each), await wire.committed(group, topic, each))
        answers.push(await wire.commitInTransaction(producer, group, topic, 9, 2, each))
      }
      return [...answers, (await wire.end(producer, 'abort', 2)).error]
    },
    answers: [
      'NONE',
      [0],
      ...['NONE', 1, 'NONE'],
      ...['STALE_MEMBER_EPOCH', 'STALE_MEMBER_EPOCH', 'ILLEGAL_GENERATION'],
      ...['STALE_MEMBER_EPOCH', 'STALE_MEMBER_EPOCH', 'ILLEGAL_GENERATION'],
      ...['UNKNOWN_MEMBER_ID', 'UNKNOWN_MEMBER_ID', 'UNKNOWN_MEMBER_ID'],
      ...['UNKNOWN_MEMBER_ID', 'UNSTABLE_OFFSET_COMMIT', 'NONE'],
      'NONE',
    ],
  },
  {
    name: 'heartbeats from unknown members or with wrong epochs are refused',
    async run(wire) {
      const [topic, group] = [await wire.topic(), wire.name('group')]
      const memberId = wire.name('member')
      const { epoch } = await wire.heartbeat(group, { memberId, epoch: 0 }, [topic], [])
      const beat = async (id: string, at: number, owned?: string[]) =>
        (await wire.heartbeat(group, { memberId: id, epoch: at }, undefined, owned)).error
      const answers = [await beat(memberId, epoch), await beat(wire.name('member'), epoch)]
      answers.push(await beat(memberId, epoch + 1), await beat(memberId, epoch - 1 || epoch + 2))
      return [...answers, await beat(memberId, -1), await beat(memberId, epoch)]
    },
    answers: ['NONE', 'UNKNOWN_MEMBER_ID', 'FENCED_MEMBER_EPOCH', 'FENCED_MEMBER_EPOCH', 'NONE', 'UNKNOWN_MEMBER_ID'],
  },
  {
    name: 'a partition moves when its owner has given it up',
    async run(wire) {
      const [topic, group] = [await wire.topic(), wire.name('group')]
      const [first, second] = ['b', 'a'].map((prefix) => wire.name(prefix))
      const joined = await wire.heartbeat(group, { memberId: first, epoch: 0 }, [topic], [])
      const other = await wire.heartbeat(group, { memberId: second, epoch: 0 }, [topic], [])
      const answers: unknown[] = [joined.assigned, other.assigned]
      // The member whose name sorts first gets the partition once the other member has confirmed that it owns none.
      const told = await wire.until(
        () => wire.heartbeat(group, { memberId: first, epoch: joined.epoch }),
        ({ assigned }) => assigned !== undefined,
      )
      answers.push(told.assigned, (await wire.heartbeat(group, { memberId: second, epoch: other.epoch })).assigned)
      answers.push((await wire.heartbeat(group, { memberId: first, epoch: told.epoch }, undefined, [])).error)
      const moved = await wire.until(
        () => wire.heartbeat(group, { memberId: second, epoch: other.epoch }),
        ({ assigned }) => assigned !== undefined,
      )
      return [...answers, moved.assigned]
    },
    answers: [[0], [], [], undefined, 'NONE', [0]],
  },
]

function transactionalOffsets(version: Version): Case {
  return {
    name: `version ${version}: offsets are visible after the commit, and cannot be read while the transaction is open`,
    async run(wire) {
      const { topic, producer } = await begin(wire)
      const group = wire.name('group')
      const commit = async (of: typeof producer, offset: number) => {
        if (version === 1) await wire.patiently(() => wire.addGroup(of, group))
        return wire.patiently(() => wire.commitInTransaction(of, group, topic, offset, version))
      }
      const settled = () =>
        wire.until(
          () => wire.committed(group, topic),
          (answer) => answer !== 'UNSTABLE_OFFSET_COMMIT',
        )
      const answers: unknown[] = [await wire.committed(group, topic), await commit(producer, 3), await wire.committed(group, topic)]
      const second = await wire.end(producer, 'commit', version)
      answers.push(second.error, await settled(), await commit(second, 8), await wire.committed(group, topic))
      answers.push((await wire.end(second, 'abort', version)).error, await settled())
      return answers
    },
    answers: [NONE, 'NONE', 'UNSTABLE_OFFSET_COMMIT', 'NONE', 3, 'NONE', 'UNSTABLE_OFFSET_COMMIT', 'NONE', 3],
  }
}
