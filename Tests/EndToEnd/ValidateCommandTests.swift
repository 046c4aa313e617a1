import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ValidateCommandTests {
    @Test func `validate prints the stages of a valid file`() async throws {
        let notes = try Notes()
        let result = try await Command.run(["validate", notes.pipeline])
        #expect(result.status == 0)
        let stages = "ingest, match from ingest, coalesce from match, payload from coalesce, deliver from payload"
        #expect(result.output == "\(notes.pipeline) is valid: pipeline notes, stages \(stages)\n")
        #expect(result.errors == "")
    }

    @Test func `the error about a stage of an unknown kind lists the known kinds`() async throws {
        let notes = try Notes()
        let file = try notes.write("pipeline: a\nstages:\n  ingest: {}\n  filter: {from: ingest}\n", to: "p.yaml")
        let result = try await Command.run(["validate", file])
        #expect(result.status == 78)
        #expect(result.errors.contains("unknown kind of stage 'filter'; known: coalesce, "), "\(result)")
    }

    @Test(arguments: ["kind: match", "use: match", "type: match", "stge: match", "comand: [cat]"])
    func `a wrong key in place of 'stage' or 'command' is reported as an unknown key, not as an unknown kind of stage`(
        line: String
    ) async throws {
        let notes = try Notes()
        let stages = "  ingest: {}\n  filter: {from: ingest, \(line)}\n"
        let file = try notes.write("pipeline: a\nstages:\n" + stages, to: "p.yaml")
        let result = try await Command.run(["validate", file])
        let key = line.prefix { $0 != ":" }
        let meant = key == "comand" ? "command" : "stage"
        #expect(result.status == 78)
        #expect(
            result.errors.contains("stages.filter.\(key): unknown key; did you mean \"\(meant)\"?"), "\(result)")
        #expect(!result.errors.contains("unknown kind"), "\(result)")
    }

    @Test func `a file in place of the data folder is a warning at the line of the key 'data'`() async throws {
        let notes = try Notes()
        try notes.write("", to: "data")
        let result = try await Command.run(["validate", notes.pipeline])
        #expect(result.status == 0 && result.errors.hasPrefix("warning: \(notes.pipeline):2:"), "\(result)")
        #expect(result.errors.contains(": data: \(notes.folder)/data is not a folder; remove it, or "), "\(result)")
    }

    @Test func `a missing secret file is a warning`() async throws {
        let notes = try Notes()
        let hooked = try notes.read("notes.yaml").replacing(
            "{ use: console }", with: #"{ use: webhook, url: "https://example.com/", secret: {$file: none} }"#)
        let pipeline = try notes.write(hooked, to: "hooked.yaml")
        let text = try await Command.run(["validate", pipeline])
        #expect(text.status == 0)
        #expect(text.output.contains("is valid: "))
        let message =
            ": stages.deliver.transports.screen.secret: cannot open \(notes.folder)/none: No such file or directory"
        #expect(text.errors.hasPrefix("warning: \(pipeline):9:") && text.errors.hasSuffix(message + "\n"))
        let json = try await Command.run(["validate", "--json", pipeline])
        #expect(json.status == 0 && json.errors == "")
        #expect(json.output.hasPrefix(#"{"valid":true,"errors":[],"warnings":[{"file":"#))
    }

    @Test func `a secret file with wrong content is a warning`() async throws {
        let notes = try Notes()
        let secret = try notes.write("hunter2", to: "secret")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret)
        let apns =
            #"{ use: apns, apps: { notes: { container: iCloud.com.example.Notes, environment: development, "#
            + #"topic: com.example.Notes, team: ABCDE12345, key: ABCDE12345, keyFile: {$file: secret} } } }"#
        let webhook = #"{ use: webhook, url: "https://example.com/", secret: {$file: secret} }"#
        for (transport, reason) in [
            (apns, "is not a .p8 key from Apple"), (webhook, "does not contain whsec_ followed by 24 to 64 bytes"),
        ] {
            let pipeline = try notes.write(
                notes.read("notes.yaml").replacing("{ use: console }", with: transport), to: "hooked.yaml")
            let result = try await Command.run(["validate", pipeline])
            #expect(result.status == 0, "\(result)")
            #expect(result.errors.hasPrefix("warning: \(pipeline):9:") && result.errors.contains(reason), "\(result)")
            #expect(!result.errors.contains("hunter2"))
        }
    }

    @Test func `each unusable secret is reported with line, column and key`() async throws {
        let notes = try Notes()
        chmod(try notes.write("hunter2", to: "secret"), 0o600)
        let webhook = [
            "{ use: webhook", "      url: {$file: secret}", #"      headers: {a: {$file: secret}}"#,
            "      secret: [{$file: secret}, {$file: secret}] }",
        ]
        let pipeline = try notes.write(
            notes.read("notes.yaml").replacing("{ use: console }", with: webhook.joined(separator: ",\n")),
            to: "hooked.yaml")
        let result = try await Command.run(["validate", pipeline])
        let at = "warning: \(pipeline):"
        let key = "stages.deliver.transports.screen"
        let secret =
            "12:15: \(key).secret: \(notes.folder)/secret does not contain whsec_ followed by 24 to 64 bytes in "
            + "Base64; make one with: "
        let url =
            "10:12: \(key).url: \(notes.folder)/secret is not a usable webhook URL: expected an http or https URL"
        let lines = result.errors.split(separator: "\n")
        #expect(result.status == 0 && lines.count == 3, "\(result)")
        for (line, start) in zip(lines, [url, secret, secret]) { #expect(line.hasPrefix(at + start), "\(line)") }
    }

    @Test func `a secret in the pipeline file itself is a warning`() async throws {
        let notes = try Notes()
        let webhook = #"{ use: webhook, url: "https://example.com/?key=hunter2", headers: { authorization: hunter2 } }"#
        let pipeline = try notes.write(
            notes.read("notes.yaml").replacing("{ use: console }", with: webhook), to: "hooked.yaml")
        for command in ["validate", "doctor"] {
            let result = try await Command.run([command, pipeline])
            #expect(result.status == (command == "doctor" ? 1 : 0), "\(result)")
            for key in ["url", "headers.authorization"] {
                let warning = "stages.deliver.transports.screen.\(key): the secret is in clear"
                #expect((result.output + result.errors).contains(warning), "\(result)")
            }
            #expect(!(result.output + result.errors).contains("hunter2"))
        }
    }

    @Test func `mistakes are reported with line and column, as text and as JSON`() async throws {
        let notes = try Notes(ingest: "{ bindd: x, door: 7 }")
        let text = try await Command.run(["validate", notes.pipeline])
        #expect(text.status == 78)
        #expect(text.output == "")
        #expect(
            text.errors.hasPrefix("\(notes.pipeline):5:13: stages.ingest.bindd: unknown key; did you mean \"bind\"?"))
        #expect(text.errors.contains("\n\(notes.pipeline):5:29: stages.ingest.door: "))
        let json = try await Command.run(["validate", "--json", notes.pipeline])
        #expect(json.status == 78)
        #expect(json.errors == "")
        #expect(json.output.hasPrefix("{\"valid\":false,\"errors\":[{\"file\":"))
        #expect(json.output.contains("\"line\":5,\"column\":13,\"key\":\"stages.ingest.bindd\""))
        #expect(json.output.contains("\"line\":5,\"column\":29,\"key\":\"stages.ingest.door\""))
    }
}
