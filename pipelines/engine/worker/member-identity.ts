import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { slotOf } from '../../../kafka/member-ids.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import type { MemberIdentity } from './worker-config.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * The place of one worker in its group, made at its first start and kept beside its state: with it a killed worker gets its partitions
 * back at once, and fences what is left of its earlier life. Call it only while the database in the same folder is open: its lock keeps
 * a second process away.
 * @param folder the state folder of this worker process
 */
export function memberIdentity(folder: string, name: string, runtime: Pick<Runtime, 'id'> = systemRuntime()): MemberIdentity {
  const file = join(folder, `identity-${name}.json`)
  const identity = read(file) ?? create(folder, file, name, runtime.id())
  return {
    ...identity,
    // The transactional id stays: whatever the member is called, it must fence the earlier lives of this slot.
    keepMemberId: (memberId) => write(file, { ...identity, memberId }),
  }
}

/** What the transactional ids of a topology's workers begin with; the rest is the slot's id. */
export function transactionalIdPrefix(name: string): string {
  return `millrace-${name}-`
}

/**
 * Those of some transactional ids whose slot is in the group no more.
 * @param memberIds of the members that the group's coordinator knows
 */
export function idsWithoutMember(name: string, transactionalIds: readonly string[], memberIds: readonly string[]): string[] {
  const prefix = transactionalIdPrefix(name)
  const present = new Set(memberIds.map(slotOf))
  const isGone = (slot: string) => UUID.test(slot) && !present.has(slot) // Not a UUID: of a topology whose name goes on.
  return transactionalIds.filter((id) => id.startsWith(prefix) && isGone(id.slice(prefix.length)))
}

interface KeptIdentity {
  readonly memberId: string
  readonly transactionalId: string
}

/** Checked by hand: a schema library would be loaded by every process that only declares topologies. */
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

/** Whole or not at all: a half-written identity would be a new one at the next start, and its partitions wait for the session time-out. */
function write(file: string, identity: KeptIdentity): void {
  const draft = `${file}.draft`
  writeFileSync(draft, `${JSON.stringify(identity)}\n`)
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
  if (!isIdentity(kept)) throw new Error(`${file} is damaged: delete it, and the worker joins its group under a new identity`)
  return { memberId: kept.memberId, transactionalId: kept.transactionalId }
}

function safeJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
