import type { ComponentChildren, ComponentProps } from 'preact'
import { useEffect, useState } from 'preact/hooks'

export function PageFrame(props: {
  title: string
  lead?: string
  actions?: ComponentChildren
  children: ComponentChildren
}) {
  // The title distinguishes tabs and entries in the browser's history.
  useEffect(() => {
    document.title = `${props.title} · Tapeline`
  }, [props.title])
  return (
    <>
      <div class="page-head">
        <div>
          <h1>{props.title}</h1>
          {props.lead && <p class="muted">{props.lead}</p>}
        </div>
        <div class="row">{props.actions}</div>
      </div>
      {props.children}
    </>
  )
}

export function Card(props: {
  title?: string
  aside?: ComponentChildren
  children: ComponentChildren
  class?: string
}) {
  return (
    <section class={`card ${props.class ?? ''}`}>
      {props.title && (
        <header>
          <h2>{props.title}</h2>
          {props.aside}
        </header>
      )}
      {props.children}
    </section>
  )
}

export function Field(props: { label: string; hint?: ComponentChildren; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is the child
    <label class="field">
      <span>{props.label}</span>
      {props.children}
      {props.hint && <small class="muted">{props.hint}</small>}
    </label>
  )
}

/** @param look the variant of the button: primary, danger, small, ghost */
export function Button({ look = '', ...rest }: ComponentProps<'button'> & { look?: string }) {
  return <button type="button" {...rest} class={`button ${look}`} />
}

export function TextField({
  label,
  hint,
  onText,
  ...rest
}: { label: string; hint?: string; onText: (text: string) => void } & ComponentProps<'input'>) {
  return (
    <Field label={label} hint={hint}>
      <input {...rest} onInput={(event) => onText(event.currentTarget.value)} />
    </Field>
  )
}

/** @param isNew whether the user chooses a new password */
export function PasswordField(props: {
  label: string
  isNew: boolean
  hint?: string
  value: string
  onText: (text: string) => void
}) {
  const { isNew, ...rest } = props
  return (
    <TextField
      {...rest}
      type="password"
      name="password"
      required
      minLength={isNew ? 10 : 1}
      autocomplete={isNew ? 'new-password' : 'current-password'}
    />
  )
}

export function Problem({ text }: { text: string | undefined }) {
  return text === undefined ? null : (
    <p class="problem" role="alert">
      {text}
    </p>
  )
}

export function Badge({ tone, children }: { tone: string; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <div class="empty">{children}</div>
}

export function Stat(props: { label: string; value: ComponentChildren; note?: ComponentChildren }) {
  return (
    <div class="stat">
      <span class="muted">{props.label}</span>
      <strong>{props.value}</strong>
      {props.note && <small class="muted">{props.note}</small>}
    </div>
  )
}

/** Runs an action one at a time and reports errors. */
export function useAction(action: () => Promise<void>) {
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string>()
  const run = async (event?: Event) => {
    event?.preventDefault()
    if (busy) return
    setBusy(true)
    setProblem(undefined)
    try {
      await action()
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    } finally {
      setBusy(false)
    }
  }
  return { run, busy, problem }
}

export function ChoiceButtons<T extends string>(props: {
  label: string
  value: T
  options: readonly T[]
  onChange: (value: T) => void
}) {
  return (
    <div class="choice" role="radiogroup" aria-label={props.label}>
      {props.options.map((option) => (
        <label key={option} class={option === props.value ? 'on' : ''}>
          <input
            type="radio"
            name={props.label}
            checked={option === props.value}
            onChange={() => props.onChange(option)}
          />
          {option}
        </label>
      ))}
    </div>
  )
}

export function Select<T extends string>(props: {
  label: string
  value: T
  options: readonly T[]
  /** The label, if it is not the value itself. */
  nameOf?: (option: T) => string
  onChange: (value: T) => void
}) {
  return (
    <select
      aria-label={props.label}
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value as T)}
    >
      {props.options.map((option) => (
        <option key={option} value={option}>
          {props.nameOf?.(option) ?? option}
        </option>
      ))}
    </select>
  )
}
