import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { onTestFinished } from 'vitest'
import { freePort } from '../../../deploy/local/ports.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { guardedFolder } from '../../stack/folder.ts'

const SLOTS = 16_384
const START_TIMEOUT_MS = 20_000
/** How long a master must be silent before it counts as failed and its replica takes over. */
const NODE_TIMEOUT_MS = 1_500

interface ClusterFeatures {
  /** Whether each master has a replica. */
  readonly hasReplicas?: boolean
  /** Password of all nodes; undefined if none needs one. */
  readonly password?: string
}

/**
 * Starts a Redis Cluster for this test alone.
 * @returns the URL of the first master, with the password
 */
export async function privateRedisCluster(masters = 2, { hasReplicas = false, password }: ClusterFeatures = {}): Promise<string> {
  const folder = guardedFolder()
  onTestFinished(() => folder.finish())
  const ports = await Promise.all(Array.from({ length: hasReplicas ? 2 * masters : masters }, () => freePort()))
  for (const port of ports) {
    const cwd = join(folder.path, String(port))
    mkdirSync(cwd)
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--cluster-enabled', 'yes', '--cluster-port', String(await freePort())]
    const timing = ['--cluster-node-timeout', String(NODE_TIMEOUT_MS), '--repl-diskless-sync-delay', '0']
    const secret = password === undefined ? [] : ['--requirepass', password, '--masterauth', password]
    spawn('redis-server', [...args, ...(hasReplicas ? timing : []), ...secret, '--save', ''], { cwd, stdio: 'ignore' })
  }
  const nodes = ports.map((port) => new Redis({ port, password, retryStrategy: () => 50, maxRetriesPerRequest: null }))
  for (const node of nodes) node.on('error', () => {})
  onTestFinished(() => {
    for (const node of nodes) node.disconnect()
  })
  const firstSlot = (index: number) => Math.floor((index * SLOTS) / masters)
  const addSlots = (node: Redis, index: number) => node.call('CLUSTER', 'ADDSLOTSRANGE', firstSlot(index), firstSlot(index + 1) - 1)
  await Promise.all(nodes.slice(0, masters).map(addSlots))
  for (const [index, node] of nodes.slice(1).entries()) {
    const busPort = (await node.config('GET', 'cluster-port')) as string[]
    await nodes[0].call('CLUSTER', 'MEET', '127.0.0.1', ports[index + 1], busPort[1])
  }
  const isWhole = async (node: Redis) => String(await node.call('CLUSTER', 'INFO')).includes('cluster_state:ok')
  await waitUntil(async () => (await Promise.all(nodes.map(isWhole))).every(Boolean), {
    what: 'Redis Cluster',
    timeoutMs: START_TIMEOUT_MS,
  })
  await Promise.all(nodes.slice(masters).map((replica, index) => follow(replica, nodes[index])))
  return `redis://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${ports[0]}`
}

/** Makes a node a replica of the master, and waits until it has copied the master's data. */
async function follow(replica: Redis, master: Redis): Promise<void> {
  const masterId = String(await master.call('CLUSTER', 'MYID'))
  const isKnown = async () => String(await replica.call('CLUSTER', 'NODES')).includes(masterId)
  await waitUntil(isKnown, { what: 'the connection of a replica to its master', timeoutMs: START_TIMEOUT_MS })
  await replica.call('CLUSTER', 'REPLICATE', masterId)
  const isInStep = async () => (await replica.info('replication')).includes('master_link_status:up')
  await waitUntil(isInStep, { what: 'the first copy on a replica', timeoutMs: START_TIMEOUT_MS })
}

/**
 * Begins to move a slot from the first master of a cluster to another master.
 * @returns a function that finishes the move
 */
export async function startMovingSlot(url: string, slot: number): Promise<() => Promise<void>> {
  const from = new Redis(url)
  onTestFinished(() => from.disconnect())
  const [, toId, port] = /^(\w+) 127\.0\.0\.1:(\d+)@\d+ master/m.exec(String(await from.cluster('NODES')))!
  const fromId = String(await from.cluster('MYID'))
  const to = new Redis(Number(port))
  onTestFinished(() => to.disconnect())
  await to.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId)
  await from.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId)
  return async function finish() {
    const keys = (await from.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[]
    await from.call('MIGRATE', '127.0.0.1', port, '', 0, 5_000, 'KEYS', ...keys)
    for (const node of [to, from]) await node.call('CLUSTER', 'SETSLOT', slot, 'NODE', toId)
  }
}
