import { execFile, spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { inheritedEnv } from '../../deploy/local/config.ts'
import { freePort, LOOPBACK } from '../../deploy/local/ports.ts'
import { waitUntil } from '../../deploy/local/wait.ts'
import { PeerMissingError } from '../peer-missing.ts'
import type { LoadOrder, LoadReport } from './load.ts'

const run = promisify(execFile)
const SERVICE = 'github.com/envoyproxy/ratelimit/src/service_cmd@v1.4.1-0.20260122083618-3fb702589d36'
const LOAD_SOURCE = join(import.meta.dirname, 'envoy')
/** Time limit of each of the two build steps. The first build downloads and compiles about 40 modules. */
const BUILD_TIMEOUT_MS = 600_000
const START_TIMEOUT_MS = 20_000
const OUTPUT_BYTES = 256 * 1024 * 1024
const SECONDS_PER_MINUTE = 60

/**
 * A peer: envoyproxy/ratelimit, a Go service with a gRPC interface. It uses the same Redis and supports only fixed
 * windows.
 */
export interface EnvoyPeer {
  load(order: LoadOrder): Promise<LoadReport>
  stop(): void
}

/**
 * Builds the peer and its load generator with the Go compiler of the machine. Returns the folder of the two programs.
 * @throws PeerMissingError when Go is not installed or the build fails
 */
export async function buildEnvoy(folder: string): Promise<string> {
  const bin = join(folder, 'envoy-ratelimit')
  const env = { ...inheritedEnv(), GOBIN: bin, GOFLAGS: '-buildvcs=false' }
  try {
    await mkdir(bin, { recursive: true })
    await run('go', ['install', SERVICE], { env, timeout: BUILD_TIMEOUT_MS })
    await run('go', ['build', '-o', join(bin, 'load'), '.'], { cwd: LOAD_SOURCE, env, timeout: BUILD_TIMEOUT_MS })
    return bin
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new PeerMissingError(code === 'ENOENT' ? 'Go is not installed; see https://go.dev/dl' : message.split('\n')[0])
  }
}

/**
 * Starts the peer with one limit, which applies to each client separately.
 * @param windowSeconds 1 or 60; any other value is treated as 1
 */
export async function startEnvoy(bin: string, folder: string, redisUrl: string, limit: number, windowSeconds: number): Promise<EnvoyPeer> {
  const [http, grpc, debug] = [await freePort(), await freePort(), await freePort()]
  const root = join(folder, `envoy-${grpc}`)
  await mkdir(join(root, 'ratelimit', 'config'), { recursive: true })
  const unit = windowSeconds === SECONDS_PER_MINUTE ? 'minute' : 'second'
  await writeFile(
    join(root, 'ratelimit', 'config', 'config.yaml'),
    `domain: bench\ndescriptors:\n  - key: client\n    rate_limit: { unit: ${unit}, requests_per_unit: ${limit} }\n`,
  )
  const child = spawn(join(bin, 'service_cmd'), [], {
    cwd: root,
    env: {
      RUNTIME_ROOT: root,
      RUNTIME_SUBDIRECTORY: 'ratelimit',
      RUNTIME_WATCH_ROOT: 'false',
      REDIS_SOCKET_TYPE: 'tcp',
      REDIS_URL: new URL(redisUrl).host,
      USE_STATSD: 'false',
      LOG_LEVEL: 'error',
      HOST: LOOPBACK,
      PORT: String(http),
      GRPC_HOST: LOOPBACK,
      GRPC_PORT: String(grpc),
      DEBUG_HOST: LOOPBACK,
      DEBUG_PORT: String(debug),
    },
    stdio: ['ignore', 'ignore', 'ignore'],
  })
  const isHealthy = () =>
    fetch(`http://${LOOPBACK}:${http}/healthcheck`).then(
      ({ ok }) => ok,
      () => false,
    )
  await waitUntil(isHealthy, { what: 'envoyproxy/ratelimit', timeoutMs: START_TIMEOUT_MS })
  return {
    async load(order) {
      const argument = JSON.stringify({ ...order, address: `${LOOPBACK}:${grpc}` })
      const { stdout } = await run(join(bin, 'load'), [argument], { maxBuffer: OUTPUT_BYTES })
      return JSON.parse(stdout) as LoadReport
    },
    stop: () => void child.kill(),
  }
}
