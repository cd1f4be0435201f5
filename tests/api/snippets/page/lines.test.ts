import fc from 'fast-check'
import hljs from 'highlight.js'
import { describe, expect, test } from 'vitest'
import { threadHighlighter } from '../../../../api/snippets/page/highlighter.ts'
import { escapeHtml, linesOf } from '../../../../api/snippets/page/lines.ts'
import { errorPage, revealPage, snippetPage } from '../../../../api/snippets/page/render.ts'
import type { SnippetRecord } from '../../../../state/views/snippets/snippets.ts'

const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll(/&#(?:39|x27);/g, "'")
    .replaceAll('&amp;', '&')

const snippet: SnippetRecord = {
  id: 'abcd1234',
  userId: '42',
  username: '<b>alice</b>',
  title: '</title><script>alert(1)</script>',
  language: 'javascript',
  bytes: 10,
  hash: 'h',
  visibility: 'public',
  expiresAt: undefined,
  createdAt: 0,
  views: 1,
  readsLeft: undefined,
  predecessor: undefined,
  root: undefined,
}

describe('lines', () => {
  test('the lines contain all the text, and every span ends in the line in which it begins', () => {
    const code = fc.array(fc.constantFrom('/* a', 'b */', '`x', '${', '}', '"', '\n', '<!--', '-->', '&', 'let a = 1'), { maxLength: 30 })
    fc.assert(
      fc.property(code, (parts) => {
        const text = parts.join('')
        const { lines, rest } = linesOf(hljs.highlight(text, { language: 'javascript', ignoreIllegals: true }).value)
        expect(rest).toBe('')
        expect(lines.map(textOf)).toEqual(text.split('\n'))
        for (const line of lines) expect(line.match(/<span/g)?.length ?? 0).toBe(line.match(/<\/span>/g)?.length ?? 0)
      }),
      { numRuns: 200 },
    )
  })
})

describe('the page', () => {
  test('escapes all user input, and contains exactly the content', () => {
    const text = '<img src=x onerror=alert(1)>\n& "quotes"\n\n'
    const html = snippetPage(snippet, { html: escapeHtml(text), isCut: false })
    expect(html).not.toContain('<img')
    expect(html).not.toContain('<b>alice')
    expect(html.match(/<script>/g)).toHaveLength(1)
    const code = /<code id="code">(.*)<\/code>/s.exec(html)![1]
    expect(textOf(code)).toBe(text)
    expect(code.match(/id="L\d+"/g)).toEqual(['id="L1"', 'id="L2"', 'id="L3"'])
    expect(textOf(/<code id="code">(.*)<\/code>/s.exec(snippetPage(snippet, { html: 'one line', isCut: false }))![1])).toBe('one line')
  })

  test('stays complete and below 4 MB if every character is a line break, or the spans are nested deeply', () => {
    const codeOf = (html: string) => /<code id="code">(.*)<\/code>/s.exec(snippetPage(snippet, { html, isCut: false }))![1]
    const breaks = '\n'.repeat(524_288)
    const ofBreaks = codeOf(breaks)
    expect(ofBreaks.length).toBeLessThan(4_000_000)
    expect(textOf(ofBreaks)).toBe(breaks)
    // Highlighting this text takes a few milliseconds, but the size of the page would be 16 GB if every line repeated
    // the open spans.
    const nested = `${'`${'.repeat(3_000)}${'\n'.repeat(100_000)}end`
    const ofNested = codeOf(hljs.highlight(nested, { language: 'javascript', ignoreIllegals: true }).value)
    expect(ofNested.length).toBeLessThan(4_000_000)
    expect(textOf(ofNested)).toBe(nested)
    expect(ofNested.match(/<span/g)!.length).toBe(ofNested.match(/<\/span>/g)!.length)
    const exact = `${'a\n'.repeat(20_000)}`
    expect(textOf(codeOf(exact))).toBe(exact)
  })

  test('shows nothing of a burning snippet before the button is pressed', () => {
    const html = revealPage({ ...snippet, readsLeft: 2 }, { key: 'the-key', isFile: false })
    expect(html).toContain('It can be read 2 more times')
    expect(html).not.toContain('alert')
    expect(snippetPage({ ...snippet, readsLeft: 0 }, { html: 'x', isCut: false })).toContain('now deleted')
    expect(errorPage('<x>', '<y>')).not.toContain('<x>')
  })
})

describe('the highlighter', () => {
  test('runs in a thread, refuses an unknown language, and gives up on a text that takes too long', async () => {
    const highlighter = threadHighlighter()
    expect(await highlighter.highlight('let a = 1', 'javascript')).toContain('hljs-keyword')
    expect(await highlighter.highlight('x', 'no language at all')).toBeUndefined()
    expect(await highlighter.highlight('let a = 1', 'javascript')).toContain('hljs-keyword')
    await highlighter.close()
    const impatient = threadHighlighter(0)
    expect(await impatient.highlight('let a = 1;\n'.repeat(50_000), 'javascript')).toBeUndefined()
    await impatient.close()
  })
})
