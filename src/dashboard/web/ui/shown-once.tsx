import type { ComponentChildren } from 'preact'
import { CopyButton } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { Button } from './parts.tsx'

/** A secret that is shown only once; closing it has to be confirmed. */
export function ShownOnce(props: {
  title: string
  lead: string
  secret: string
  /** What it is called, as in "Copy key". */
  name: string
  children?: ComponentChildren
  onClose: () => void
}) {
  return (
    <Dialog title={props.title} onClose={props.onClose} wide>
      <p>{props.lead}</p>
      <Copyable text={props.secret} label={`Copy ${props.name}`} testId={`new-${props.name}`} />
      {props.children}
      <footer>
        <Button look="primary" onClick={props.onClose}>
          I have copied it
        </Button>
      </footer>
    </Dialog>
  )
}

export function Copyable(props: { text: string; label: string; testId?: string }) {
  return (
    <div class="secret">
      <code data-testid={props.testId}>{props.text}</code>
      <CopyButton text={props.text} label={props.label} />
    </div>
  )
}
