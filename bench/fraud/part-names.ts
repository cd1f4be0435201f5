/** Names for the command line. They are in a separate file, so that printing the help does not load the service. */
export const PART_NAMES = ['rules', 'blocklist', 'models', 'profiles', 'score'] as const
export type PartName = (typeof PART_NAMES)[number]
