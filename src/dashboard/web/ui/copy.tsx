import { useState } from 'preact/hooks'
import { Icon } from '../icons.tsx'

const SHOWN_MS = 1_600

export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [done, setDone] = useState(false)
  const copy = async () => {
    await writeText(text)
    setDone(true)
    setTimeout(() => setDone(false), SHOWN_MS)
  }
  return (
    <button type="button" class="button small copy" onClick={copy}>
      <Icon name="copy" />
      <span aria-live="polite">{done ? 'Copied' : label}</span>
    </button>
  )
}

/** The clipboard API is there on https and localhost only. */
async function writeText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text)
  const field = document.createElement('textarea')
  field.value = text
  document.body.append(field)
  field.select()
  document.execCommand('copy')
  field.remove()
}
