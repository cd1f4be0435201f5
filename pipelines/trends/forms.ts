import type { TermForm } from '../../schemas/trends/types.ts'

/** Spellings per term. People use two or three, and a flood of odd ones must not fill the state. */
export const MAX_FORMS = 16

/** Counts a spelling. If there are too many, the rarest is removed (of equally rare ones, the greatest). */
export function addForm(forms: TermForm[], form: string, count: number): void {
  for (const known of forms) {
    if (known.form !== form) continue
    known.count += count
    return
  }
  if (forms.length < MAX_FORMS) {
    forms.push({ form, count })
    return
  }
  const rarest = forms.reduce((worst, known) => (comesBefore(worst, known) ? known : worst))
  forms[forms.indexOf(rarest)] = { form, count }
}

/** The most common spelling. Of equally common ones, the smallest. */
export function mostFrequentForm(forms: readonly TermForm[]): string {
  return forms.reduce((best, form) => (comesBefore(form, best) ? form : best)).form
}

function comesBefore(a: TermForm, b: TermForm): boolean {
  return a.count > b.count || (a.count === b.count && a.form < b.form)
}
