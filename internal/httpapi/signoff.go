package httpapi

import (
	"net/http"
	"time"

	"github.com/onceward/onceward"
)

// ContractVersion is one version of a contract, and how it stands.
type ContractVersion struct {
	Version      string               `json:"version"`
	Serial       int64                `json:"serial" doc:"The order in which versions came."`
	InForce      bool                 `json:"in_force"`
	Proposed     bool                 `json:"proposed" doc:"It waits for its owners' yes; another version is in force."`
	Against      string               `json:"against,omitempty" doc:"The version that it is compared with: the one in force if it waits, else the one before."`
	Differences  []ContractDifference `json:"differences"`
	Incomparable string               `json:"incomparable,omitempty" doc:"Why the two cannot be compared."`
	Signed       []ContractSigning    `json:"signed"`
	Unsigned     []string             `json:"unsigned,omitempty" enum:"sign_as" doc:"Whose yes it waits for."`
}

// ContractDifference is a field in which two versions differ.
type ContractDifference struct {
	Field  string `json:"field"`
	Was    string `json:"was,omitempty"`
	Is     string `json:"is,omitempty"`
	Widens bool   `json:"widens" doc:"The newer one risks more, or nobody can tell that it does not."`
	Why    string `json:"why"`
}

// ContractSigning is an owner's yes.
type ContractSigning struct {
	As      string    `json:"as" enum:"sign_as"`
	By      string    `json:"by,omitempty" doc:"For people of the server's own tenant only."`
	Reason  string    `json:"reason,omitempty" doc:"For people of the server's own tenant only."`
	Against string    `json:"against" doc:"The version in place of which it was signed."`
	At      time.Time `json:"at"`
}

// ContractVersionList is the history of a contract.
type ContractVersionList struct {
	Tool     string            `json:"tool"`
	Versions []ContractVersion `json:"versions"`
}

// ContractVersionAnswer is one version of a contract.
type ContractVersionAnswer struct {
	Tool    string          `json:"tool"`
	Version ContractVersion `json:"version"`
}

// ContractDocument is a stored version of a contract.
type ContractDocument struct {
	Tool    string `json:"tool"`
	Version string `json:"version"`
	InForce bool   `json:"in_force"`
	Source  string `json:"source" doc:"The document, as it was loaded. Secrets stand in it by reference only."`
}

// SignRequest is an owner's yes.
type SignRequest struct {
	As     string `json:"as" enum:"sign_as" doc:"As which of the owners that the contract names."`
	Reason string `json:"reason" max:"reason" doc:"Why the wider risk is wanted."`
}

// HeldVersion is a version that waits.
type HeldVersion struct {
	Version  string   `json:"version"`
	Unsigned []string `json:"unsigned" enum:"sign_as" doc:"Whose yes it waits for."`
}

var signoffRoutes = []route{
	{
		Method: http.MethodGet, Path: "/v1/tools/{name}/versions", Name: "listContractVersions", handle: listVersions, Action: onceward.ActionReadTools,
		Summary: "List the newest versions of a contract: which is in force, which waits for whom, who signed, and what differs.",
		Answers: []answer{{http.StatusOK, ContractVersionList{}, "The versions, the newest first; 50 at most."}}, Refusals: []onceward.Code{onceward.CodeToolNotFound},
	},
	{
		Method: http.MethodGet, Path: "/v1/tools/{name}/versions/{version}", Name: "getContractVersion", handle: getVersion, Action: onceward.ActionReadTools,
		Summary: "Read the document of one version of a contract. For people of the server's own tenant.",
		Answers: []answer{{http.StatusOK, ContractDocument{}, "The document."}}, Refusals: []onceward.Code{onceward.CodeToolNotFound},
	},
	{
		Method: http.MethodPost, Path: "/v1/tools/{name}/versions/{version}/sign", Name: "signContract", handle: signContract, Action: onceward.ActionSignContracts,
		Summary: "Say yes, as one of its two owners, to a version that widens risk. The second owner's yes brings it in force within a second.",
		Body:    SignRequest{}, Answers: []answer{{http.StatusOK, ContractVersionAnswer{}, "How the version stands now."}},
		Refusals: []onceward.Code{onceward.CodeToolNotFound, onceward.CodeEvidenceRequired, onceward.CodeUnsupportedPolicy, onceward.CodeStateForbids, onceward.CodeWriteConflict},
	},
}

func contractVersion(c *onceward.ContractStanding) ContractVersion {
	v := ContractVersion{Version: c.Version, Serial: c.Serial, InForce: c.Active, Proposed: c.Proposed, Against: c.Against, Incomparable: c.Incomparable,
		Differences: []ContractDifference{}, Signed: []ContractSigning{}, Unsigned: stringsOf(c.Open())}
	for _, d := range c.Differences {
		v.Differences = append(v.Differences, ContractDifference(d))
	}
	for _, s := range c.Signed {
		v.Signed = append(v.Signed, ContractSigning{As: string(s.As), By: s.Actor, Reason: s.Reason, Against: s.Against, At: s.At.UTC()})
	}
	return v
}

// listVersions is GET /v1/tools/{name}/versions.
func listVersions(c *call) error {
	name, err := onceward.ParseToolName(c.req.PathValue("name"))
	if err != nil {
		return err
	}
	all, err := c.ledger.ContractHistory(c.req.Context(), c.who, name)
	if err != nil {
		return err
	}
	list := ContractVersionList{Tool: string(name), Versions: make([]ContractVersion, len(all))}
	for i := range all {
		list.Versions[i] = contractVersion(&all[i])
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &list)
	return nil
}

// getVersion is GET /v1/tools/{name}/versions/{version}.
func getVersion(c *call) error {
	name, err := onceward.ParseToolName(c.req.PathValue("name"))
	if err != nil {
		return err
	}
	v, err := c.ledger.ContractDocument(c.req.Context(), c.who, name, c.req.PathValue("version"))
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &ContractDocument{Tool: string(name), Version: v.Version, InForce: v.Active, Source: string(v.Source)})
	return nil
}

// signContract is POST /v1/tools/{name}/versions/{version}/sign.
func signContract(c *call) error {
	name, err := onceward.ParseToolName(c.req.PathValue("name"))
	if err != nil {
		return err
	}
	var in SignRequest
	if err := c.read(&in, true); err != nil {
		return err
	}
	as, err := onceward.ParseSignAs(in.As)
	if err != nil {
		return err
	}
	standing, err := c.ledger.SignContract(c.req.Context(), c.who, name, c.req.PathValue("version"), as, in.Reason)
	if err != nil {
		return err
	}
	writeJSON(c.w, http.StatusOK, mediaJSON, &ContractVersionAnswer{Tool: string(name), Version: contractVersion(&standing)})
	return nil
}
