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

/** A Redis Cluster of that many masters for this test alone. @returns the URL of one node */
export async function privateRedisCluster(masters = 2): Promise<string> {
  const folder = guardedFolder()
  onTestFinished(() => folder.finish())
  const ports = await Promise.all(Array.from({ length: masters }, () => freePort()))
  for (const port of ports) {
    const cwd = join(folder.path, String(port))
    mkdirSync(cwd)
    const args = ['--port', String(port), '--bind', '127.0.0.1', '--cluster-enabled', 'yes', '--cluster-port', String(await freePort())]
    spawn('redis-server', [...args, '--save', ''], { cwd, stdio: 'ignore' })
  }
  const nodes = ports.map((port) => new Redis({ port, retryStrategy: () => 50, maxRetriesPerRequest: null }))
  for (const node of nodes) node.on('error', () => {})
  onTestFinished(() => {
    for (const node of nodes) node.disconnect()
  })
  const firstSlot = (index: number) => Math.floor((index * SLOTS) / masters)
  await Promise.all(nodes.map((node, index) => node.call('CLUSTER', 'ADDSLOTSRANGE', firstSlot(index), firstSlot(index + 1) - 1)))
  for (const [index, node] of nodes.slice(1).entries()) {
    const busPort = (await node.config('GET', 'cluster-port')) as string[]
    await nodes[0].call('CLUSTER', 'MEET', '127.0.0.1', ports[index + 1], busPort[1])
  }
  const isWhole = async (node: Redis) => String(await node.call('CLUSTER', 'INFO')).includes('cluster_state:ok')
  await waitUntil(async () => (await Promise.all(nodes.map(isWhole))).every(Boolean), {
    what: 'Redis Cluster',
    timeoutMs: START_TIMEOUT_MS,
  })
  return `redis://127.0.0.1:${ports[0]}`
}
