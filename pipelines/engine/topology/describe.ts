import type { AnyTopic } from '../../../schemas/topic.ts'
import { type Declaration, type EmittingNode, nodesOf, type StreamDeclaration } from './declaration.ts'
import { changelogTopicName } from './internal-topics.ts'
import type { SubTopology } from './sub-topology.ts'

/** A description of a topology as indented text and as a Mermaid flow chart. */
export interface TopologyDescription {
  readonly text: string
  readonly mermaid: string
}

export function describeTopology(declaration: Declaration, parts: readonly SubTopology[]): TopologyDescription {
  return { text: asText(declaration, parts), mermaid: asMermaid(declaration, parts) }
}

function streamsOf(declaration: Declaration, part: SubTopology): StreamDeclaration[] {
  return declaration.streams.filter((stream) => part.sources.includes(stream.topic.name))
}

function nodeTargets(node: EmittingNode): readonly AnyTopic[] {
  const forwarded = node.kind === 'on-time' && node.forwardTo !== undefined ? [node.forwardTo] : []
  return [...new Set([...node.emits, ...forwarded])]
}

function nodeLine(node: EmittingNode): string {
  const details = [
    node.kind === 'tick' ? `every ${node.everyMs} ms of ${node.clock} time` : '',
    node.stores.length > 0 ? `stores ${node.stores.map((store) => store.name).join(', ')}` : '',
  ].filter((detail) => detail !== '')
  const targets = nodeTargets(node).map((topic) => topic.name)
  return `${node.kind} ${node.name}${details.length > 0 ? ` (${details.join('; ')})` : ''}${targets.length > 0 ? ` → ${targets.join(', ')}` : ''}`
}

function asText(declaration: Declaration, parts: readonly SubTopology[]): string {
  const lines = [`topology ${declaration.topology}`]
  for (const part of parts) {
    lines.push(`  sub-topology ${part.index}: ${part.partitions} partitions`)
    for (const stream of streamsOf(declaration, part)) {
      lines.push(`    source ${stream.topic.name}`)
      for (const node of nodesOf(stream)) lines.push(`      ${nodeLine(node)}`)
      for (const mark of stream.timeMarks) lines.push(`      mark-time every ${mark.everyMs} ms, ${mark.delayMs} ms late → ${mark.to.name}`)
      if (stream.options.lateOutput !== undefined) lines.push(`      late → ${stream.options.lateOutput.name}`)
    }
    for (const name of part.stores) {
      const store = declaration.stores.get(name)
      lines.push(
        `    store ${name}${store?.logged === true ? ` (changelog ${changelogTopicName(declaration.topology, name)})` : ' (not logged)'}`,
      )
    }
  }
  return `${lines.join('\n')}\n`
}

function asMermaid(declaration: Declaration, parts: readonly SubTopology[]): string {
  const ids = new Map<string, string>()
  const topics: string[] = []
  const edges: string[] = []

  function id(kind: string, name: string): string {
    const key = `${kind} ${name}`
    const known = ids.get(key)
    if (known !== undefined) return known
    const fresh = `${kind}${ids.size}`
    ids.set(key, fresh)
    if (kind === 'topic') topics.push(`  ${fresh}[/"${name}"/]`)
    return fresh
  }

  const groups = parts.flatMap((part) => {
    const inner: string[] = []
    for (const stream of streamsOf(declaration, part)) {
      const from = id('topic', stream.topic.name)
      for (const node of nodesOf(stream)) {
        const box = id('node', node.name)
        inner.push(`    ${box}["${node.name}"]`)
        edges.push(`  ${from} --> ${box}`)
        for (const topic of nodeTargets(node)) edges.push(`  ${box} --> ${id('topic', topic.name)}`)
        for (const store of node.stores) edges.push(`  ${box} --- ${id('store', store.name)}`)
      }
      for (const mark of stream.timeMarks) edges.push(`  ${from} -. time .-> ${id('topic', mark.to.name)}`)
      const late = stream.options.lateOutput
      if (late !== undefined) edges.push(`  ${from} -. late .-> ${id('topic', late.name)}`)
    }
    for (const store of part.stores) inner.push(`    ${id('store', store)}[("${store}")]`)
    return [`  subgraph part${part.index}["sub-topology ${part.index}"]`, ...inner, '  end']
  })
  return ['flowchart LR', ...topics, ...groups, ...edges, ''].join('\n')
}
