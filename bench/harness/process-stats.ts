import { readFileSync } from 'node:fs'

/** Clock ticks per second in the CPU times of Linux. A tick is a hundredth of a second. */
const TICKS_PER_SECOND = 100
/** Indexes of fields in /proc/<pid>/stat after the name, and in the first line of /proc/stat. */
const UTIME = 11
const STIME = 12
const BUSY_COLUMNS = [1, 2, 3, 6, 7, 8]
const KIB_PER_MIB = 1024

/** Returns the CPU time of a process so far, user and system, in seconds; 0 when the process has ended. */
export function cpuSeconds(pid: number): number {
  const text = read(`/proc/${pid}/stat`)
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[UTIME] ?? 0) + Number(fields[STIME] ?? 0)) / TICKS_PER_SECOND
}

/** Returns the busy time of all cores since the machine started, in seconds, including steal time. */
export function machineCpuSeconds(): number {
  const columns = read('/proc/stat').split('\n')[0].trim().split(/\s+/)
  return BUSY_COLUMNS.reduce((sum, column) => sum + Number(columns[column] ?? 0), 0) / TICKS_PER_SECOND
}

/** Returns the pids of the direct children of a process. */
export function childPids(pid: number): number[] {
  return read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number)
}

/** Returns the peak resident memory of a process so far, in MiB. */
export function peakRssMib(pid: number): number {
  return statusMib(pid, 'VmHWM')
}

/** Returns the resident memory of a process, in MiB. */
export function rssMib(pid: number): number {
  return statusMib(pid, 'VmRSS')
}

/** Returns the anonymous resident memory of a process, in MiB: the memory that is not backed by a file. */
export function anonymousMib(pid: number): number {
  return statusMib(pid, 'RssAnon')
}

function statusMib(pid: number, field: string): number {
  const found = new RegExp(`^${field}:\\s*(\\d+)`, 'm').exec(read(`/proc/${pid}/status`))
  return Math.round(Number(found?.[1] ?? 0) / KIB_PER_MIB)
}

/** Returns the number of bytes that a process has written to files so far; 0 if it has ended or is not readable. */
export function writtenBytes(pid: number): number {
  return Number(/^write_bytes:\s*(\d+)/m.exec(read(`/proc/${pid}/io`))?.[1] ?? 0)
}

/** Returns the load average of the last minute. */
export function machineLoad(): string {
  return read('/proc/loadavg').split(' ')[0]
}

/** Describes the machine's cores and memory, and the version of Node. Does not reveal the machine's name. */
export function describeMachine(): string {
  const processors = read('/proc/cpuinfo')
  const model = /^model name\s*:\s*(.+)$/m.exec(processors)?.[1] ?? 'unknown processor'
  const cores = processors.match(/^processor\s*:/gm)?.length ?? 0
  const kib = Number(/^MemTotal:\s*(\d+)/m.exec(read('/proc/meminfo'))?.[1] ?? 0)
  return `${cores} cores (${model}), ${Math.round(kib / KIB_PER_MIB / KIB_PER_MIB)} GiB, Node ${process.version}`
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
