import { randomUUID } from 'node:crypto'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ChdbResult, drainPending, Session } from 'chdb'
import { identifier, literal, MultiStatementError, readStatement, type Statement } from './sql.ts'

/** One request to the engine, as the HTTP interface has taken it apart. */
export interface EngineRequest {
  readonly sql: string
  /** What follows the statement: the rows of an INSERT. */
  readonly data: Buffer
  readonly database: string | undefined
  readonly settings: ReadonlyMap<string, string>
  /** Query parameters `{name:Type}`, in ClickHouse's escaped text form. */
  readonly parameters: ReadonlyMap<string, string>
  readonly defaultFormat: string
  readonly readOnly: boolean
}

export interface EngineAnswer {
  readonly bytes: Uint8Array
  readonly format: string
  readonly rowsRead: number
  readonly bytesRead: number
  readonly elapsedSeconds: number
}

export interface Engine {
  /** Throws EngineError. */
  execute(request: EngineRequest): Promise<EngineAnswer>
  close(): Promise<void>
}

/** A refusal with ClickHouse's error code; the message has ClickHouse's form, `Code: N. DB::Exception: ... (NAME)`. */
export class EngineError extends Error {
  override readonly name = 'EngineError'
  readonly code: number
  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

const SYNTAX_ERROR = 62
const TOO_MANY_QUERIES = 202
const UNKNOWN_EXCEPTION = 1002
/** A little below the thread pool (16), so that files and compression are not kept waiting by queries. */
const PARALLEL_QUERIES = 12
/** A second of work at a high rate; more means that nothing will be in time. */
const WAITING_QUERIES = 2_000
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const READ_ONLY_WITH_SETTINGS = '2'

/**
 * ClickHouse inside this process. Every request has a session of its own on the one data folder (0.3 ms), so settings and parameters
 * cannot reach another request; chdb's own parameter binding is one queue for the whole process, `SET param_x` in a session is not.
 *
 * The rows of an INSERT go through a file: data inside the statement ends at its first blank line, and what follows would run as SQL;
 * and the file is faster (10,000 rows of JSON: 800k rows/s against 560k).
 */
export async function openEngine(dataDir: string): Promise<Engine> {
  const path = join(dataDir, 'db')
  const spool = join(dataDir, 'inserts')
  await rm(spool, { recursive: true, force: true })
  await mkdir(spool, { recursive: true })
  // Keeps the engine open between requests.
  const anchor = new Session(path)
  const limit = limiter(PARALLEL_QUERIES, WAITING_QUERIES)

  async function execute(given: EngineRequest): Promise<EngineAnswer> {
    const { request, statement } = understood(given)
    const { result, format } = await limit(() => inSession(request, statement))
    return { bytes: result.bytes(), format, rowsRead: result.rowsRead, bytesRead: result.bytesRead, elapsedSeconds: result.elapsed }
  }

  async function inSession(request: EngineRequest, statement: Statement): Promise<{ result: ChdbResult; format: string }> {
    const session = new Session(path)
    let file: string | undefined
    try {
      for (const sql of preparations(request)) await session.queryAsync(sql)
      if (statement.kind !== 'insert-data') {
        const format = (statement.kind === 'query' ? statement.format : undefined) ?? request.defaultFormat
        return { result: await session.queryAsync(request.sql, { format: request.defaultFormat }), format }
      }
      file = join(spool, randomUUID())
      await writeFile(file, insertedData(request, statement.dataStart))
      const { head, settings, format } = statement
      return { result: await session.queryAsync(`${head} FROM INFILE ${literal(file)} ${settings} FORMAT ${format}`), format }
    } catch (error) {
      throw engineError(error)
    } finally {
      session.close()
      if (file) await rm(file, { force: true })
    }
  }

  async function close(): Promise<void> {
    await drainPending()
    anchor.close()
    await drainPending()
  }

  return { execute, close }
}

/** What follows a statement that takes no data is the rest of the statement. */
function understood(request: EngineRequest): { request: EngineRequest; statement: Statement } {
  const statement = statementOf(request.sql)
  if (statement.kind !== 'insert-data' && request.data.length > 0) {
    return understood({ ...request, sql: `${request.sql}\n${request.data.toString()}`, data: Buffer.alloc(0) })
  }
  if (statement.kind === 'empty') throw new EngineError(SYNTAX_ERROR, exception(SYNTAX_ERROR, 'Empty query', 'SYNTAX_ERROR'))
  return { request, statement }
}

function statementOf(sql: string): Statement {
  try {
    return readStatement(sql)
  } catch (error) {
    if (!(error instanceof MultiStatementError)) throw error
    throw new EngineError(SYNTAX_ERROR, exception(SYNTAX_ERROR, `Multi-statements are not allowed: ${error.message}`, 'SYNTAX_ERROR'))
  }
}

/** Rows may follow the format's name in the statement itself, then in the body. */
function insertedData({ sql, data }: EngineRequest, dataStart: number): Buffer {
  return dataStart >= sql.length ? data : Buffer.concat([Buffer.from(sql.slice(dataStart)), data])
}

function preparations(request: EngineRequest): string[] {
  const assignments: string[] = []
  // The engine's default reads a file in parallel: slower on two cores, and with more memory.
  if (!request.settings.has('input_format_parallel_parsing')) assignments.push("input_format_parallel_parsing = '0'")
  for (const [name, value] of request.settings) assignments.push(`${checkedName(name)} = ${literal(value)}`)
  for (const [name, value] of request.parameters) assignments.push(`param_${checkedName(name)} = ${literal(value)}`)
  if (request.readOnly) assignments.push(`readonly = ${literal(READ_ONLY_WITH_SETTINGS)}`)
  const statements = [`SET ${assignments.join(', ')}`]
  if (request.database) statements.unshift(`USE ${identifier(request.database)}`)
  return statements
}

function checkedName(name: string): string {
  if (NAME.test(name)) return name
  throw new EngineError(SYNTAX_ERROR, exception(SYNTAX_ERROR, `Not a name of a setting or parameter: ${name}`, 'SYNTAX_ERROR'))
}

function engineError(error: unknown): EngineError {
  if (error instanceof EngineError) return error
  const message = (error as Error).message
  const code = Number(/^Code: (\d+)\./.exec(message)?.[1] ?? UNKNOWN_EXCEPTION)
  return new EngineError(code, message.startsWith('Code:') ? message : exception(code, message, 'UNKNOWN_EXCEPTION'))
}

function exception(code: number, message: string, name: string): string {
  return `Code: ${code}. DB::Exception: ${message}. (${name})`
}

/** Runs at most `parallel` jobs at once, in order of arrival; refuses when too many wait already. */
function limiter(parallel: number, waitingLimit: number) {
  const waiting: (() => void)[] = []
  let running = 0
  return async function limited<T>(job: () => Promise<T>): Promise<T> {
    if (running >= parallel) {
      if (waiting.length >= waitingLimit) {
        throw new EngineError(
          TOO_MANY_QUERIES,
          exception(TOO_MANY_QUERIES, 'Too many queries are waiting', 'TOO_MANY_SIMULTANEOUS_QUERIES'),
        )
      }
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running++
    try {
      return await job()
    } finally {
      // The place goes to the next one in line, or is given up.
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
