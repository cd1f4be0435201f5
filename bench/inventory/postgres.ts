import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { freePort } from '../../deploy/local/ports.ts'
import { waitUntil } from '../../deploy/local/wait.ts'
import { PeerMissingError } from '../peer-missing.ts'

/** Folder in which Debian installs PostgreSQL, with one subfolder per version. */
const INSTALLED = '/usr/lib/postgresql'
/** Account that runs the server, because the server refuses to run as root. */
const ACCOUNT = 'nobody'
const DATABASE = 'postgres'
const CLIENTS = 64
const STARTED = { what: 'PostgreSQL', timeoutMs: 30_000, intervalMs: 100 }
const MICROSECONDS_PER_MS = 1_000
/**
 * Column of pgbench's log with the duration of the transaction in microseconds. Because pgbench runs at a fixed rate,
 * it measures the duration from when the transaction was due.
 */
const TIME_COLUMN = 2

/**
 * The schema: one row per variant, and one row per reservation. Each operation is one transaction. It updates the stock
 * if there is enough, and inserts or deletes the reservation. As in the measurements of the API, half of the operations
 * are reservations.
 */
const SCHEMA = (variants: number, quantity: number) => `
CREATE TABLE stock (variant_id bigint PRIMARY KEY, available int, reserved int, version bigint) WITH (fillfactor = 50);
CREATE TABLE reservations (reservation_id bigserial PRIMARY KEY, variant_id bigint, ends_at timestamptz);
INSERT INTO stock SELECT v, ${quantity}, 0, 1 FROM generate_series(1, ${variants}) v;`

const RESERVE = (variants: number) => `
\\set variant random(1, ${variants})
WITH taken AS (
  UPDATE stock SET available = available - 1, reserved = reserved + 1, version = version + 1
  WHERE variant_id = :variant AND available >= 1 RETURNING variant_id
)
INSERT INTO reservations (variant_id, ends_at) SELECT variant_id, now() + interval '15 minutes' FROM taken;`

const END = (back: number) => `
WITH ended AS (
  DELETE FROM reservations WHERE reservation_id = (
    SELECT reservation_id FROM reservations ORDER BY reservation_id LIMIT 1 FOR UPDATE SKIP LOCKED
  ) RETURNING variant_id
)
UPDATE stock SET available = available + ${back}, reserved = reserved - 1, version = version + 1
FROM ended WHERE stock.variant_id = ended.variant_id;`

export interface Postgres {
  /**
   * Returns the durations of all operations in ms, in ascending order. Durations are measured from when the operation
   * was due.
   */
  measure(options: { variants: number; perSecond: number; seconds: number; quantity: number }): number[]
  stop(): Promise<void>
}

/**
 * Starts a server in `folder`. It listens only on a Unix socket; all other settings are the defaults, so every commit
 * is flushed to the disk.
 */
export async function startPostgres(folder: string): Promise<Postgres> {
  const version = existsSync(INSTALLED) ? newestOf(readdirSync(INSTALLED)) : undefined
  if (version === undefined) throw new PeerMissingError('PostgreSQL is not installed (apt install postgresql)')
  const program = (name: string) => join(INSTALLED, version, 'bin', name)
  if (!existsSync(program('pgbench'))) throw new PeerMissingError('pgbench is not installed (apt install postgresql)')
  const home = join(folder, 'postgres')
  mkdirSync(home)
  const isRoot = process.getuid?.() === 0
  if (isRoot) {
    openPathTo(home)
    execFileSync('chown', [ACCOUNT, home])
  }
  const as = (name: string, args: readonly string[]): [string, string[]] =>
    isRoot ? ['runuser', ['-u', ACCOUNT, '--', program(name), ...args]] : [program(name), [...args]]
  const run = (name: string, args: readonly string[]) =>
    execFileSync(...as(name, args), { cwd: home, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' })

  const data = join(home, 'data')
  run('initdb', ['-D', data, '-A', 'trust', '-U', 'bench'])
  const port = String(await freePort())
  const [file, args] = as('postgres', ['-D', data, '-p', port, '-k', home, '-c', 'listen_addresses='])
  const server = spawn(file, args, { cwd: home, stdio: 'ignore' })
  const exited = once(server, 'exit')
  const connection = ['-h', home, '-p', port, '-U', 'bench']
  await waitUntil(() => isUp(), STARTED)

  function isUp(): boolean {
    try {
      run('psql', [...connection, '-d', DATABASE, '-c', 'SELECT 1'])
      return true
    } catch {
      return false
    }
  }

  let runs = 0
  return {
    measure({ variants, perSecond, seconds, quantity }) {
      run('psql', [...connection, '-d', DATABASE, '-c', 'DROP TABLE IF EXISTS stock, reservations', '-c', SCHEMA(variants, quantity)])
      const scripts = { reserve: RESERVE(variants), deduct: END(0), release: END(1) }
      for (const [name, text] of Object.entries(scripts)) writeFileSync(join(home, name), text)
      const weighted = ['-f', `${join(home, 'reserve')}@2`, '-f', `${join(home, 'deduct')}@1`, '-f', `${join(home, 'release')}@1`]
      const log = `log-${++runs}`
      const pace = ['-R', String(perSecond), '-T', String(seconds), '-c', String(CLIENTS), '-j', '1']
      run('pgbench', [...connection, '-n', '-M', 'prepared', '-l', `--log-prefix=${log}`, ...pace, ...weighted, DATABASE])
      const lines = readdirSync(home)
        .filter((name) => name.startsWith(`${log}.`))
        .flatMap((name) => readFileSync(join(home, name), 'utf8').trim().split('\n'))
      return lines.map((line) => Number(line.split(' ')[TIME_COLUMN]) / MICROSECONDS_PER_MS).sort((a, b) => a - b)
    },
    async stop() {
      run('pg_ctl', ['-D', data, '-m', 'fast', 'stop'])
      await exited
    },
  }
}

/** @param versions such as `17` or `9.6` */
export function newestOf(versions: readonly string[]): string | undefined {
  return versions.toSorted((one, other) => Number(one) - Number(other)).at(-1)
}

/** Permission for all accounts to access files in a folder, but not to list the folder. */
const PASS = 0o001

/** Lets every account pass through a folder and its parent folders, without the permission to list them. */
function openPathTo(folder: string): void {
  for (let path = folder; path !== dirname(path); path = dirname(path)) {
    const { mode } = statSync(path)
    if ((mode & PASS) === 0) chmodSync(path, mode | PASS)
  }
}
