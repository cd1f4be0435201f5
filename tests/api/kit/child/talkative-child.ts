import { writeSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

const STDERR = 2
/** Pause between the two parts. It is long enough for the parent to read the parts separately. */
const PAUSE_MS = 200

/** Writes one line in two parts, and another line. */
writeSync(STDERR, 'a line in ')
await delay(PAUSE_MS)
writeSync(STDERR, 'two parts\nanother line\n')
