import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { freePort } from '../../deploy/local/ports.ts'
import { waitUntil } from '../../deploy/local/wait.ts'
import { PeerMissingError } from '../peer-missing.ts'

const run = promisify(execFile)
const GO_SOURCE = fileURLToPath(new URL('./peer-go', import.meta.url))
const START_TIMEOUT_MS = 10_000
const BUILD_TIMEOUT_MS = 300_000

export interface Peer {
  readonly url: string
  stop(): Promise<void>
}

/**
 * Starts nginx, whose results are the upper bound. It needs no database, records no clicks, and keeps all codes in
 * memory.
 */
export async function startNginx(folder: string, host: string, links: ReadonlyMap<string, string>): Promise<Peer> {
  const port = await freePort()
  const prefix = join(folder, 'nginx')
  mkdirSync(prefix, { recursive: true })
  const map = [...links].map(([code, url]) => `    "/${code}" "${url}";`).join('\n')
  const config = `
    worker_processes 1; daemon off; error_log ${prefix}/error.log; pid ${prefix}/pid;
    events { worker_connections 1024; }
    http {
      access_log off; keepalive_requests 1000000;
      client_body_temp_path ${prefix}/body; proxy_temp_path ${prefix}/proxy; fastcgi_temp_path ${prefix}/fastcgi;
      uwsgi_temp_path ${prefix}/uwsgi; scgi_temp_path ${prefix}/scgi;
      map_hash_max_size 65536; map_hash_bucket_size 128;
      map $uri $long_url { default "";
    ${map}
      }
      server {
        listen 127.0.0.1:${port}; server_name ${host};
        if ($long_url = "") { return 404; }
        add_header Cache-Control "private, no-store";
        return 302 $long_url;
      }
    }`
  writeFileSync(join(prefix, 'nginx.conf'), config)
  const child = spawn('nginx', ['-c', join(prefix, 'nginx.conf'), '-p', prefix], { stdio: 'ignore' })
  return await started(child, port, 'it is not installed or failed to start; as root: apt-get install -y nginx-light')
}

/** Builds and starts a redirect service in Go with net/http and Redis. */
export async function startGoPeer(folder: string, redisUrl: string, host: string, links: ReadonlyMap<string, string>): Promise<Peer> {
  const program = join(folder, 'peer-go')
  await run('go', ['build', '-o', program, '.'], { cwd: GO_SOURCE, timeout: BUILD_TIMEOUT_MS }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new PeerMissingError('Go is not installed; see https://go.dev/dl')
    throw new PeerMissingError(`it cannot be built: ${error.message.split('\n').filter(Boolean).join(' ')}`)
  })
  const redis = new Redis(redisUrl)
  for (const [code, url] of links) await redis.set(`link:${code}`, JSON.stringify({ u: url, d: host, c: Date.now() }))
  redis.disconnect()
  const port = await freePort()
  const child = spawn(program, ['-listen', `127.0.0.1:${port}`, '-redis', new URL(redisUrl).host], { stdio: 'ignore' })
  return await started(child, port, 'it failed to start')
}

async function started(child: ChildProcess, port: number, cure: string): Promise<Peer> {
  let failure: string | undefined
  child.on('error', () => {
    failure = cure
  })
  const exited = once(child, 'exit').catch(() => undefined)
  const url = `http://127.0.0.1:${port}`
  const isDown = () => failure ?? (child.exitCode === null ? undefined : cure)
  try {
    await waitUntil(async () => (await fetch(url, { redirect: 'manual' })).status > 0, {
      what: url,
      timeoutMs: START_TIMEOUT_MS,
      givenUp: isDown,
    })
  } catch (error) {
    if (isDown() !== undefined) throw new PeerMissingError(cure)
    child.kill('SIGTERM')
    throw error
  }
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
  }
}
