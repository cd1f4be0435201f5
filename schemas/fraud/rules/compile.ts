import { childrenOf, type Node, type NodeOf } from './ast.ts'
import { checkCondition } from './check.ts'
import type { Fault } from './faults.ts'
import type { Field } from './field.ts'
import { fieldOf } from './fields.ts'
import { parseCondition } from './parse.ts'
import { type TruthOf, truth } from './truth.ts'

/** A condition ready for evaluation. */
export interface Condition {
  readonly node: Node
  readonly evaluate: TruthOf
  /**
   * The fields whose absence can make the result of the condition missing: all of its fields except those that occur
   * only in IS MISSING.
   */
  readonly needs: readonly Field[]
  /** The names of the lists whose absence can make the result of the condition missing. */
  readonly neededLists: readonly string[]
  /** The names of all lists that the condition reads. */
  readonly lists: readonly string[]
}

export type Compiled = { readonly ok: true; readonly condition: Condition } | { readonly ok: false; readonly faults: readonly Fault[] }

/** Parses, checks and compiles a condition. */
export function compileCondition(text: string): Compiled {
  const parsed = parseCondition(text)
  if (!parsed.ok) return { ok: false, faults: [parsed.fault] }
  const faults = checkCondition(text, parsed.node)
  if (faults.length > 0) return { ok: false, faults }
  return { ok: true, condition: compile(parsed.node) }
}

/** Compiles a checked tree. */
function compile(node: Node): Condition {
  const read: FactsRead = { needs: new Set(), neededLists: new Set(), lists: new Set() }
  collect(node, read, true)
  return { node, evaluate: truth(node), needs: [...read.needs], neededLists: [...read.neededLists], lists: [...read.lists] }
}

interface FactsRead {
  readonly needs: Set<Field>
  readonly neededLists: Set<string>
  readonly lists: Set<string>
}

/**
 * @param isNeeded true if the result of the condition may be missing because a value or list that the node reads is
 * absent
 */
function collect(node: Node, read: FactsRead, isNeeded: boolean): void {
  if (node.kind === 'field' && isNeeded) read.needs.add(fieldOf(node.name)!)
  if (node.kind === 'call' && node.name === 'inList') {
    const list = (node.args[0] as NodeOf<'string'>).value
    read.lists.add(list)
    if (isNeeded) read.neededLists.add(list)
  }
  for (const child of childrenOf(node)) collect(child, read, isNeeded && node.kind !== 'missing')
}
