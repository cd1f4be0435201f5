/**
 * Adds topologies and sinks without input, to show the cost of additional services. A worker process loads this file
 * before its main program (`--import`). The query string of the file's URL contains the numbers of topologies and
 * sinks. The added topologies and sinks are distributed over both worker roles, and the sinks over views and tables.
 */

import { keyedStore, rawValue, type Topic, type Topology, topology, utf8 } from '../pipelines/engine/index.ts'
import type { PipelineService, WorkerRole } from '../pipelines/service.ts'
import { pipelineServices } from '../pipelines/services.ts'
import { type SinkDeclaration, tableSink, viewSink } from '../pipelines/sinks.ts'
import { NO_SETTINGS } from '../settings/fragment.ts'
import type { Table } from '../state/tables/table.ts'
import { type View, viewTag } from '../state/views/view.ts'

const PARTITIONS = 4
/** Every third topology and every fifth sink run in the deciding worker. Half of the other sinks fill tables. */
const DECIDING_TOPOLOGIES = 3
const DECIDING_SINKS = 5

const roleOfTopology = (index: number): WorkerRole => (index % DECIDING_TOPOLOGIES === 0 ? 'deciding' : 'bulk')
const roleOfSink = (index: number): WorkerRole => (index % DECIDING_SINKS === 0 ? 'deciding' : 'bulk')

function fixtureTopic(name: string): Topic<string, string> {
  return { name, key: utf8, value: rawValue(utf8), partitions: PARTITIONS }
}

function fixtureTopology(index: number): Topology {
  const [input, output] = [fixtureTopic(`fixture-input-${index}`), fixtureTopic(`fixture-output-${index}`)]
  return topology(`fixture-${index}`, (t) => {
    const last = keyedStore('last', { key: utf8, value: rawValue(utf8) })
    t.source(input).process(
      'keep',
      { reads: (_value, key) => last.prefetch(key), stores: [last], emits: [output] },
      function keepAndSend(value, ctx) {
        last.put(ctx.key, value)
        ctx.emit(output, ctx.key, value)
      },
    )
  })
}

function fixtureView(name: string): View<string, string> {
  return {
    name,
    operationsFor: (partition, key, value) => [{ op: 'set', key: `${viewTag(name, partition)}:${key}`, value: value ?? '' }],
  }
}

function fixtureTable(name: string): Table<string, string> {
  return {
    name,
    columns: ['key String', 'value String'],
    orderBy: 'key',
    partitionBy: 'tuple()',
    rowsOf: (key, value) => [{ key, value: value ?? '' }],
    partitionOf: () => '',
  }
}

function fixtureSink(index: number, topologies: number): SinkDeclaration {
  const topic = fixtureTopic(`fixture-output-${index % Math.max(1, topologies)}`)
  const isTable = roleOfSink(index) === 'bulk' && index % 2 === 1
  return isTable
    ? tableSink(`fixture-${index}-table`, fixtureTable(`fixture_${index}`), topic)
    : viewSink(`fixture-${index}-view`, fixtureView(`fixture-${index}`), [topic])
}

function fixtureService(role: WorkerRole, topologies: number, sinks: number): PipelineService {
  const ofRole = (count: number, roleOf: (index: number) => WorkerRole) =>
    Array.from({ length: count }, (_, index) => index).filter((index) => roleOf(index) === role)
  const declared = ofRole(topologies, roleOfTopology).map(fixtureTopology)
  return {
    name: `fixtures-${role}`,
    role,
    settings: NO_SETTINGS,
    topologies: () => declared,
    sinks: ofRole(sinks, roleOfSink).map((index) => fixtureSink(index, topologies)),
  }
}

// All processes that `npm start` starts import this file (NODE_OPTIONS), but only workers add the fixtures.
if (process.argv[1]?.endsWith('/pipelines/main.ts')) {
  const { searchParams } = new URL(import.meta.url)
  const [topologies, sinks] = ['topologies', 'sinks'].map((name) => Number(searchParams.get(name)))
  const services = pipelineServices as PipelineService[]
  services.push(fixtureService('bulk', topologies, sinks), fixtureService('deciding', topologies, sinks))
}
