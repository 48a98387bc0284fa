package event

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

type person struct{ name, login, email string }

// somebody invents a person. The addresses are in domains that are reserved
// for examples.
func somebody(r *rand.Rand) person {
	first, last := pick(r, firstNames), pick(r, lastNames)
	login := strings.ToLower(fmt.Sprintf("%s.%s%d", first, last, r.IntN(1000)))
	return person{name: first + " " + last, login: login, email: login + "@" + pick(r, domains)}
}

func pick[T any](r *rand.Rand, from func() []T) T {
	all := from()
	return all[r.IntN(len(all))]
}

func currencies() []string  { return []string{"eur", "usd", "chf", "gbp", "sek", "jpy", "cad", "aud"} }
func brands() []string      { return []string{"visa", "mastercard", "amex", "discover", "jcb"} }
func domains() []string     { return []string{"example.com", "example.net", "example.org"} }
func chargeTypes() []string { return []string{"charge.succeeded", "charge.captured", "charge.updated"} }

func firstNames() []string {
	return []string{
		"Aino", "Amara", "Anders", "Beatriz", "Bilal", "Camille", "Chen", "Dagmar", "Deniz", "Elif", "Emeka", "Farah", "Felix", "Giulia", "Hana", "Hugo",
		"Ines", "Ivan", "Jasmin", "Jonas", "Kaori", "Kwame", "Lars", "Leila", "Luca", "Mateo", "Mei", "Nadia", "Noah", "Olga", "Omar", "Priya",
		"Quentin", "Rania", "Ruben", "Sakura", "Sven", "Tariq", "Tess", "Uma", "Viktor", "Wanda", "Xavier", "Yara", "Yusuf", "Zoe", "Mirko", "Petra",
	}
}

func lastNames() []string {
	return []string{
		"Abebe", "Andersson", "Bauer", "Bianchi", "Castillo", "Chaudhry", "Dubois", "Eriksen", "Ferrari", "Garcia", "Haddad", "Horvat", "Ito", "Jansen", "Kaya", "Keller",
		"Kowalski", "Larsen", "Lopez", "Martin", "Mensah", "Meyer", "Moreau", "Nakamura", "Novak", "Okafor", "Olsen", "Park", "Peeters", "Popescu", "Quiroga", "Rahman",
		"Rossi", "Sato", "Schmid", "Silva", "Singh", "Svoboda", "Tanaka", "Toth", "Ueda", "Varga", "Vogel", "Weber", "Yilmaz", "Zhang", "Zimmermann", "Zanetti",
	}
}

func words() []string {
	return []string{
		"retry", "ledger", "invoice", "parser", "timeout", "queue", "window", "charge", "refund", "branch", "index", "cursor", "writer", "reader", "commit", "segment",
		"address", "header", "payload", "digest", "signature", "client", "server", "metric", "budget", "filter", "router", "socket", "buffer", "cache", "worker", "session",
		"fixes", "adds", "drops", "moves", "splits", "merges", "rounds", "guards", "the", "a", "when", "before", "after", "without", "under", "between",
	}
}
