import { positionsKey } from '../../../state/views/apply.ts'
import {
  type BinaryReader,
  caughtUpKey,
  type ListReader,
  type ScoredMember,
  type ScoreReader,
  VALUE_FIELD,
  VERSION_FIELD,
  type ViewOperation,
  type ViewReader,
  type ViewValue,
} from '../../../state/views/view.ts'

/** Simulates those parts of the sink and of Redis that are needed to read what operations wrote. */
export function fakeRedis() {
  const strings = new Map<string, string>()
  const hashes = new Map<string, Map<string, string>>()
  const sortedSets = new Map<string, Map<string, number>>()
  const published: { channel: string; message: string }[] = []
  const state = { down: false, reads: 0 }

  function hash(key: string): Map<string, string> {
    const found = hashes.get(key) ?? new Map<string, string>()
    hashes.set(key, found)
    return found
  }

  function sorted(key: string): Map<string, number> {
    const found = sortedSets.get(key) ?? new Map<string, number>()
    sortedSets.set(key, found)
    return found
  }

  function applyOne(operation: ViewOperation): void {
    switch (operation.op) {
      case 'set':
        strings.set(operation.key, latin1(operation.value))
        return
      case 'setIfNewer': {
        const fields = hash(operation.key)
        if (Number(fields.get(VERSION_FIELD) ?? Number.NEGATIVE_INFINITY) >= operation.version) return
        fields.set(VERSION_FIELD, String(operation.version)).set(VALUE_FIELD, latin1(operation.value))
        return
      }
      case 'del':
        strings.delete(operation.key)
        hashes.delete(operation.key)
        sortedSets.delete(operation.key)
        return
      case 'hset':
        for (const [field, value] of Object.entries(operation.fields)) hash(operation.key).set(field, latin1(value))
        return
      case 'hdel':
        hash(operation.key).delete(operation.field)
        return
      case 'hdelUpTo': {
        const { key, field, upTo } = operation
        const [number, text] = (hash(key).get(field) ?? '').split(' ')
        if (Number(number) < upTo.number || (Number(number) === upTo.number && text <= upTo.text)) hash(key).delete(field)
        return
      }
      case 'hsetFrom': {
        const { key, field, number, value } = operation
        if (!(Number.parseInt(hash(key).get(field) ?? '', 10) > number)) hash(key).set(field, value)
        return
      }
      case 'hkeep': {
        const { key, suffix, number } = operation
        for (const [field, value] of hash(key))
          if (!field.endsWith(suffix) && !(Number.parseInt(value, 10) > number)) hash(key).delete(field)
        return
      }
      case 'removeRows': {
        const { key, rowBytes, items, counters } = operation
        for (const { start, amount, counters: fields } of items) {
          const rows = strings.get(key) ?? ''
          const at = rowsOf(rows, rowBytes).findIndex((row) => row.startsWith(latin1(start)))
          if (at >= 0) {
            strings.set(key, rows.slice(0, at * rowBytes) + rows.slice((at + 1) * rowBytes))
            continue
          }
          const counter = fields.find((name) => hash(counters).has(name))
          if (counter === undefined) continue
          const [count, sum] = hash(counters).get(counter)!.split(' ').map(Number)
          if (count === 1) hash(counters).delete(counter)
          else hash(counters).set(counter, `${count - 1} ${Math.max(0, sum - amount)}`)
        }
        return
      }
      case 'zadd':
        sorted(operation.key).set(operation.member, operation.score)
        for (const member of membersByScore(operation.key).slice(operation.newest ?? Number.POSITIVE_INFINITY))
          sorted(operation.key).delete(member)
        return
      case 'zrem':
        sorted(operation.key).delete(operation.member)
        return
      case 'expire':
        return
      case 'publish':
        published.push(operation)
    }
  }

  /** Returns the members, with the highest score first. */
  function membersByScore(key: string): string[] {
    return scoredMembers(key).map(({ member }) => member)
  }

  function scoredMembers(key: string): ScoredMember[] {
    const members = [...(sortedSets.get(key) ?? [])].map(([member, score]) => ({ member, score }))
    return members.sort((one, other) => other.score - one.score || (one.member < other.member ? 1 : -1))
  }

  function answer<T>(value: T): Promise<T> {
    state.reads++
    return state.down ? Promise.reject(new Error('Connection is closed.')) : Promise.resolve(value)
  }

  const reader: ViewReader & ListReader & ScoreReader & BinaryReader = {
    get: (key) => answer(strings.get(key) ?? null),
    hget: (key, field) => answer(hashes.get(key)?.get(field) ?? null),
    hmget: (key, fields) => answer(fields.map((field) => hashes.get(key)?.get(field) ?? null)),
    mget: (keys) => answer(keys.map((key) => strings.get(key) ?? null)),
    zcard: (key) => answer(sortedSets.get(key)?.size ?? 0),
    zrevrange: (key, start, stop) => answer(membersByScore(key).slice(start, stop + 1)),
    zrevrangeWithScores: (key, start, stop) => answer(scoredMembers(key).slice(start, stop + 1)),
    zmscore: (key, members) => answer(members.map((member) => sortedSets.get(key)?.get(member) ?? null)),
    zrange: (key, start, stop) =>
      answer(
        membersByScore(key)
          .reverse()
          .slice(start, stop + 1),
      ),
    zrangebylex(key, min, max, offset, count) {
      const isAfter = (member: string) => min === '-' || (min[0] === '[' ? member >= min.slice(1) : member > min.slice(1))
      const isBefore = (member: string) => max === '+' || (max[0] === '[' ? member <= max.slice(1) : member < max.slice(1))
      const members = [...(sortedSets.get(key)?.keys() ?? [])].sort().filter((member) => isAfter(member) && isBefore(member))
      return answer(members.slice(offset, offset + count))
    },
    hgetall: (key) => answer(Object.fromEntries(hashes.get(key) ?? [])),
    mgetBuffer: (keys) => answer(keys.map((key) => bytes(strings.get(key)))),
    hmgetBuffer: (key, fields) => answer(fields.map((field) => bytes(hashes.get(key)?.get(field)))),
    hgetallBuffer: (key) => {
      const entries = [...(hashes.get(key) ?? [])]
      return answer(Object.fromEntries(entries.map(([field, value]) => [field, Buffer.from(value, 'latin1')])))
    },
  }
  return {
    reader,
    state,
    published,
    /** Returns the string at this key synchronously. */
    held: (key: string): string | null => strings.get(key) ?? null,
    keys: () => [...strings.keys(), ...hashes.keys()],
    apply: (operations: readonly ViewOperation[]) => operations.forEach(applyOne),
    caughtUp(view: string, partitions: number) {
      for (let partition = 0; partition < partitions; partition++) strings.set(caughtUpKey(view, partition), '1')
    },
    /** Sets the positions of a partition by topic, as the sink does. */
    moveTo(view: string, partition: number, positions: Readonly<Record<string, number>>) {
      for (const [topic, offset] of Object.entries(positions)) hash(positionsKey(view, partition)).set(topic, String(offset))
    },
    flush() {
      strings.clear()
      sortedSets.clear()
      hashes.clear()
    },
  }
}

function rowsOf(text: string, length: number): string[] {
  return Array.from({ length: text.length / length }, (_, row) => text.slice(row * length, (row + 1) * length))
}

/** Converts bytes to text with one character per byte. */
function latin1(value: ViewValue): string {
  return typeof value === 'string' ? value : value.toString('latin1')
}

function bytes(value: string | undefined): Buffer | null {
  return value === undefined ? null : Buffer.from(value, 'latin1')
}
