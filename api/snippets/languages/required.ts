/**
 * The literals that a text must contain for a pattern to match: at least one literal of each group. They are derived
 * from the source of the pattern. Most patterns need not run on a text, because the text lacks their literals. The list
 * is empty if no required literal is known. A literal that begins with LINE_START must be at the beginning of a line,
 * possibly after blanks.
 */
export type Requirement = readonly (readonly string[])[]

export const LINE_START = '\n'
/** Source of the part of a pattern that matches blanks after LINE_START. */
const BLANKS = '[ \\t]*'

/**
 * Derives the required literals of a pattern. The pattern may have characters, classes, groups, alternatives,
 * repetitions and assertions. If the pattern ignores case, its literals are returned in lower case. Throws for escapes
 * that the table does not use, such as numeric ones.
 */
export function requirementOf({ source, flags }: RegExp): Requirement {
  const ignoresCase = flags.includes('i')
  let at = 0

  /**
   * Parses alternatives up to the closing parenthesis or the end of the pattern.
   * @param before the text that certainly precedes the alternatives
   * @returns the requirements of the alternatives, including the text before them
   */
  function alternatives(before: string): string[][] {
    const all = [sequence(before)]
    while (source[at] === '|') {
      at++
      all.push(sequence(before))
    }
    if (all.length === 1) return all[0]
    const tellingOnes = all.map(mostTelling)
    return tellingOnes.includes(undefined) ? [] : [tellingOnes.flatMap((group) => group!)]
  }

  function sequence(before: string): string[][] {
    const groups: string[][] = []
    let run = before
    const endRun = () => {
      if (run !== '' && run !== LINE_START) groups.push([run])
      run = ''
    }
    while (at < source.length && source[at] !== '|' && source[at] !== ')') {
      if (source[at] === '^') {
        endRun()
        at++
        if (source.startsWith(BLANKS, at)) at += BLANKS.length
        run = LINE_START
        continue
      }
      const found = atom(run)
      if (found === 'assertion') continue
      const { least, isOne } = repetition()
      if (typeof found === 'string') {
        // No literal may consist of LINE_START and a blank, because the grams that begin with LINE_START leave out the
        // blanks at the beginning of a line. Both are therefore dropped, and the next literal may be anywhere.
        if (run === LINE_START && /[ \t]/.test(found)) run = ''
        else if (least > 0) run += found
        if (!isOne) endRun()
        continue
      }
      endRun()
      if (least > 0) groups.push(...found)
    }
    endRun()
    return groups
  }

  /**
   * Returns a character, the requirements of a group, or `assertion` for a part of the pattern that consumes no text.
   */
  function atom(before: string): string | string[][] {
    const character = source[at++]
    switch (character) {
      case '$':
        return 'assertion'
      case '.':
        return []
      case '[':
        return classOfCharacters()
      case '(':
        return group(before)
      case '\\':
        return escaped()
      default:
        return literal(character)
    }
  }

  function literal(character: string): string | string[][] {
    if (!ignoresCase) return character
    // Letters outside ASCII are not required, because `toLowerCase` does not map all of their variants to the same
    // letter.
    return character < '\x80' ? character.toLowerCase() : []
  }

  function classOfCharacters(): string[][] {
    while (source[at] !== ']') at += source[at] === '\\' ? 2 : 1
    at++
    return []
  }

  function group(before: string): string | string[][] {
    const kind = /^\?(?::|<?[=!])/.exec(source.slice(at))?.[0] ?? ''
    at += kind.length
    const isPlain = kind === '' || kind === '?:'
    const inside = alternatives(isPlain ? before : '')
    at++
    return isPlain ? inside : 'assertion'
  }

  function escaped(): string | string[][] {
    const character = source[at++]
    if (/[bB]/.test(character)) return 'assertion'
    if (/[wWsSdD]/.test(character)) return []
    if (character === 'n') return '\n'
    if (character === 't') return '\t'
    if (/[0-9A-Za-z]/.test(character))
      throw new Error(`the escape \\${character} in ${source} is not understood: write the character itself`)
    return character
  }

  function repetition(): { least: number; isOne: boolean } {
    const [text, count] = /^(?:[*+?]|\{(\d+)(?:,\d*)?\})\??/.exec(source.slice(at)) ?? ['']
    at += text.length
    if (text === '') return { least: 1, isOne: true }
    return { least: count === undefined ? Number(text[0] === '+') : Number(count), isOne: false }
  }

  return alternatives('')
}

/**
 * Returns the group that is likely to exclude the most texts: the one whose shortest literal is the longest; undefined
 * if there are no groups.
 */
function mostTelling(groups: readonly string[][]): string[] | undefined {
  const shortest = (group: readonly string[]) => Math.min(...group.map(({ length }) => length))
  return groups.toSorted((a, b) => shortest(b) - shortest(a) || a.length - b.length)[0]
}
