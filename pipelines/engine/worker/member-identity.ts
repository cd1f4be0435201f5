import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { slotOf } from '../../../kafka/member-ids.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import type { MemberIdentity } from './worker-config.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Returns the identity of a worker in its group. The identity is created at the first start and stored in the state
 * folder. With the same identity, a killed worker gets its partitions back at once and fences its earlier producer.
 * Call this function only while the database in the same folder is open, because the database's lock keeps other
 * processes out.
 * @param folder the state folder of this worker process
 * @param name the name of the group
 */
export function memberIdentity(folder: string, name: string, runtime: Pick<Runtime, 'id'> = systemRuntime()): MemberIdentity {
  const file = join(folder, `identity-${name}.json`)
  const identity = read(file) ?? create(folder, file, name, runtime.id())
  return {
    ...identity,
    // Only the member id changes. The transactional id stays the same, because it must fence earlier producers of this
    // slot, whatever their member id.
    keepMemberId: (memberId) => write(file, { ...identity, memberId }),
  }
}

/**
 * Returns the prefix of the transactional ids of a topology's workers. In each id, the id of the worker slot follows
 * the prefix.
 */
export function transactionalIdPrefix(name: string): string {
  return `millrace-${name}-`
}

/**
 * Returns the transactional ids of worker slots that no longer have a member in the group.
 * @param memberIds the ids of all members of the group
 */
export function idsWithoutMember(name: string, transactionalIds: readonly string[], memberIds: readonly string[]): string[] {
  const prefix = transactionalIdPrefix(name)
  const present = new Set(memberIds.map(slotOf))
  const isGone = (slot: string) => UUID.test(slot) && !present.has(slot)
  return transactionalIds.filter((id) => id.startsWith(prefix) && isGone(id.slice(prefix.length)))
}

interface KeptIdentity {
  readonly memberId: string
  readonly transactionalId: string
}

/** Checks the fields without a schema library, so that processes that only declare topologies do not load one. */
function isIdentity(value: unknown): value is KeptIdentity {
  if (typeof value !== 'object' || value === null) return false
  const { memberId, transactionalId } = value as Partial<Record<keyof KeptIdentity, unknown>>
  return typeof memberId === 'string' && UUID.test(slotOf(memberId)) && typeof transactionalId === 'string' && transactionalId !== ''
}

function create(folder: string, file: string, name: string, memberId: string): KeptIdentity {
  const identity = { memberId, transactionalId: `${transactionalIdPrefix(name)}${memberId}` }
  mkdirSync(folder, { recursive: true })
  write(file, identity)
  return identity
}

/**
 * Writes the identity atomically, even if the machine loses power. With a damaged file, the worker would not start
 * until an operator deletes the file, and its partitions would then wait for the session timeout of the old identity.
 */
function write(file: string, identity: KeptIdentity): void {
  const draft = `${file}.draft`
  writeFileSync(draft, `${JSON.stringify(identity)}\n`, { flush: true })
  renameSync(draft, file)
}

function read(file: string): KeptIdentity | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
  const kept = safeJson(text)
  if (!isIdentity(kept)) throw new Error(`${file} is damaged: delete it to let the worker join its group with a new identity`)
  return { memberId: kept.memberId, transactionalId: kept.transactionalId }
}

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
