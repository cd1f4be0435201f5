import { command } from '../../scripts/command-line/command.ts'
import { choice, flag, integer, repeated, required, text } from '../../scripts/command-line/option.ts'

/** Options with conditions that dead letters must match. */
const CONDITIONS = ['offset', 'code', 'source', 'processor'] as const
/** The default of `--limit`. */
export const SHOWN_LETTERS = 20
/**
 * The options of each command. An option that does not apply is refused instead of ignored: a user of
 * `replay --all --limit 5` expects five replays.
 */
const APPLICABLE = {
  list: [],
  show: [...CONDITIONS, 'limit'],
  replay: [...CONDITIONS, 'all', 'again'],
} as const
const OPTIONS = [...CONDITIONS, 'limit', 'all', 'again'] as const

export default command({
  call: 'npm run dlq --',
  description:
    'Lists dead letters by code, shows their origin and the cause of their failure, or replays them. A replay sends each dead letter back to its source topic once. A dead letter must match all given conditions.',
  positionals: {
    COMMAND: required(choice('list, show or replay.', ['list', 'show', 'replay'])),
    NAME: text('Name of a topology or sink. Without a name, list shows all of them.'),
  },
  options: {
    offset: repeated(integer('show, replay: the offset of one dead letter; may be given several times.')),
    code: text('show, replay: an error code, such as undecodable_value.', { placeholder: 'CODE' }),
    source: text('show, replay: the source topic.', { placeholder: 'TOPIC' }),
    processor: text('show, replay: the processor that failed.', { placeholder: 'NAME' }),
    limit: integer(`show: maximum number of dead letters. Default: ${SHOWN_LETTERS}.`),
    all: flag('replay: every dead letter; needed when no condition is given.'),
    again: flag('replay: also replays dead letters that were already replayed (which causes duplicates) or that failed again.'),
  },
  environment: {
    KAFKA_BROKERS: 'Addresses of the brokers, as for workers. Default: the broker of the running stack.',
    SCHEMA_REGISTRY_URL: 'URL of the schema registry, as for workers. Default: the registry of the running stack.',
  },
  examples: [
    ['list', 'Lists failures by code.'],
    ['replay NAME --code undecodable_value', 'Replays the matching dead letters.'],
  ],
  check(values) {
    const applicable: readonly string[] = APPLICABLE[values.COMMAND]
    const wrong = OPTIONS.find((name) => isGiven(values[name]) && !applicable.includes(name))
    if (wrong !== undefined) return `--${wrong} does not apply to ${values.COMMAND}`
    if (values.COMMAND === 'list') return undefined
    if (values.NAME === undefined) return `${values.COMMAND} needs the NAME of a topology or sink`
    const isChosen = values.all || CONDITIONS.some((name) => isGiven(values[name]))
    return values.COMMAND === 'replay' && !isChosen ? 'select the dead letters to replay with a condition or --all' : undefined
  },
})

function isGiven(value: string | number | boolean | readonly number[] | undefined): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false
}
