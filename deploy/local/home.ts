import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ProcessMark, processMark } from './child.ts'

/** The data folder of one local stack. */
export interface Home {
  readonly path: string
  /** Downloaded programs; kept by a reset. */
  readonly tools: string
  /** One folder per server. */
  readonly data: string
  /** One folder per worker slot. */
  readonly state: string
  readonly logs: string
  /** What runs: pid files and the list that `npm run status` reads. */
  readonly run: string
}

/** A message that is all the user needs: cause and cure in one line. */
export class HomeError extends Error {
  override readonly name = 'HomeError'
}

/** A folder without it was not made by Millrace, and is not deleted by it. */
const MARKER = 'millrace-home'
const LOCK = 'lock'
/** Made by us before or beside the marker. */
const OWN_ENTRIES = new Set([MARKER, LOCK, 'tools', 'data', 'state', 'logs', 'run', 'auth', 'compile-cache', 'chaos'])
/** Kafka refuses nothing until the disk is really full, and then stops for good. */
const LEAST_FREE_BYTES = 500e6

function layout(path: string): Home {
  return {
    path,
    tools: join(path, 'tools'),
    data: join(path, 'data'),
    state: join(path, 'state'),
    logs: join(path, 'logs'),
    run: join(path, 'run'),
  }
}

/** Makes the folder where it is missing, and checks that there is room. */
export function openHome(path: string): Home {
  const home = layout(path)
  try {
    for (const folder of [home.path, home.tools, home.data, home.state, home.logs, home.run]) mkdirSync(folder, { recursive: true })
    writeFileSync(join(path, MARKER), 'The local data of Millrace. Safe to delete when nothing of it runs.\n')
  } catch (error) {
    throw new HomeError(`${path} cannot be written (${(error as NodeJS.ErrnoException).code}): choose another folder with MILLRACE_HOME`)
  }
  const { bavail, bsize } = statfsSync(path)
  if (bavail * bsize < LEAST_FREE_BYTES) {
    throw new HomeError(
      `the disk is full: ${Math.round((bavail * bsize) / 1e6)} MB are free for ${path}, ${LEAST_FREE_BYTES / 1e6} MB are needed. Free some space, or choose another folder with MILLRACE_HOME`,
    )
  }
  return home
}

/** The layout of an existing data folder, undefined when there is none. */
export function findHome(path: string): Home | undefined {
  return existsSync(join(path, MARKER)) ? layout(path) : undefined
}

/** Deletes data, state and logs; tools and keys stay. Refuses a folder that is not a data folder of Millrace, or in use. */
export function resetHome(path: string): void {
  if (!existsSync(path)) return
  const strangers = readdirSync(path).filter((entry) => !OWN_ENTRIES.has(entry))
  if (!existsSync(join(path, MARKER)) || strangers.length > 0) {
    const reason = strangers.length > 0 ? `it holds ${strangers[0]}` : `it has no file ${MARKER}`
    throw new HomeError(
      `--reset deletes data folders of Millrace only, and ${path} does not look like one (${reason}). Delete it by hand if you are sure`,
    )
  }
  const { data, state, logs, run } = layout(path)
  for (const folder of [data, state, logs, run]) rmSync(folder, { recursive: true, force: true })
}

/** Takes the folder for this process; throws when another living process has it. Returns the release. */
export function lockHome(home: Home): () => void {
  const lock = join(home.path, LOCK)
  const mine = join(home.path, `${LOCK}.${process.pid}`)
  writeFileSync(mine, JSON.stringify(processMark(process.pid)))
  try {
    for (;;) {
      try {
        // Atomic: of two that come at once, one gets it.
        linkSync(mine, lock)
        return () => rmSync(lock, { force: true })
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
        const holder = lockHolder(home)
        if (holder !== undefined) {
          throw new HomeError(
            `${home.path} is in use by a running \`npm start\` (pid ${holder}). Stop it, or give this one a folder of its own with MILLRACE_HOME`,
          )
        }
        rmSync(lock, { force: true })
      }
    }
  } finally {
    rmSync(mine, { force: true })
  }
}

/** The pid of the living process that has the folder. */
export function lockHolder(home: Home): number | undefined {
  try {
    const mark = JSON.parse(readFileSync(join(home.path, LOCK), 'utf8')) as ProcessMark
    return processMark(mark.pid)?.startedAtTicks === mark.startedAtTicks ? mark.pid : undefined
  } catch {
    return undefined
  }
}
