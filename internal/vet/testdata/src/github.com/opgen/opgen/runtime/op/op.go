package op

type Ctx struct{ Worker int }
