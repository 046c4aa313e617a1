import ArgumentParser
import Foundation
import LocalAPNs

struct APNsServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apns-server",
        abstract: "A local APNs: takes pushes over HTTP/2 and TLS, checks them, and shows what the device would show.",
        discussion: """
            It makes throwaway keys and certificates in --data, keeps them, and says on standard error how a pipeline \
            is pointed at it. Requests are checked as APNs does: provider token, headers, topic, device, payload. \
            People see a line for each; a pipe, or --json, gets NDJSON, with what happens to connections in between.

              belfry apns-server
              belfry apns-server --show device
              belfry apns-server --script trouble.ndjson | jq -c .status

            Its key is good for all topics and both environments, unless --key-topic and --key-environment say which; a \
            push for another topic then gets TopicDisallowed, and a server of the other environment refuses the key:

              belfry apns-server --key-topic com.example.Notes --key-environment production

            A device token is any even number of hex digits, unless --devices names those there are. A state is \
            active, offline (one push waits for it), unregistered or expired, "since" in milliseconds since 1970:

              {"token":"6a0f","topic":"com.example.Notes","environment":"development",
               "state":"unregistered","since":1795328436000}    (in one line)

            A script is a file of rules, one JSON object a line. Of all rules whose "when" fits a request, each thing \
            is taken from the first whose "do" says it; a status is given to what would have been accepted:

              # a device fails each third time, all wait a little, and the 500th ends it
              {"when":{"token":"6a0f*","every":3},"do":{"status":503,"retryAfter":30}}
              {"when":{"above":{"count":5,"seconds":60}},"do":{"status":429}}
              {"do":{"latency":[5,40]}}
              {"when":{"nth":500},"do":{"goaway":{"reason":"Shutdown","twice":true}}}
              {"quirks":{"fallAfterError":true}}

              when    token, topic (* at the end: any), type, connection, errors,
                      nth, every, first, beyond, share with seed,
                      above {count, seconds}: by device token
              do      status with reason and timestamp, retryAfter, latency, early,
                      silence, drop, reset CODE, streams, goaway {reason or text,
                      code, timestamp, lastStream current|before|all|N, twice, close}
              quirks  tokens strict|lenient, tokenUpdates connection|key,
                      futureToken REASON, wrongEnvironmentKey REASON,
                      badCertificate goaway|answer, overLimit refuse|serve|goaway,
                      missingPushType and badPayload accept|refuse, upperCaseIDs,
                      fallAfterError, ignorePings, goAwayAfterErrors N

            While it runs, it takes commands on standard input, one JSON object a line: move its clock; change a \
            device; revoke a key, or take it again; replace the script; SETTINGS, GOAWAY or a sudden end for all connections.

              {"clock":"+25m"}
              {"device":{"token":"6a0f","topic":"com.example.Notes","state":"offline"}}
              {"key":{"id":"KEYLOCAL12","state":"revoked"}}
              {"script":[{"do":{"status":500}}]}
              {"streams":5}
              {"goaway":{"reason":"Shutdown","connection":1}}
              {"drop":"connections"}

            Exit codes: 64 usage, 65 a line of a file is wrong, 66 no such file, 69 the port is taken, 74 a file \
            cannot be written, 78 a key is none.
            """)

    @Option(help: "The port to listen at; 0: any.")
    var port: Int = 2197

    @Option(help: "The address to listen at.")
    var bind = "127.0.0.1"

    @Option(help: "One more name or address that clients know it by, for its certificate; may be repeated.")
    var name: [String] = []

    @Option(help: "Which of the two services it is: development or production.")
    var environment = Environment.development

    @Option(help: "Where keys and certificates are made and kept.", completion: .directory)
    var data = ".belfry/apns-server"

    @Option(help: "A .p8 file, in place of a key of its own.", completion: .file(extensions: ["p8"]))
    var key: String?

    @Option(help: "The key's ID.")
    var keyID = "KEYLOCAL12"

    @Option(help: "The key's team.")
    var team = "TEAMLOCAL1"

    @Option(help: "A topic that the key is good for; may be repeated (default: all of the team's).")
    var keyTopic: [String] = []

    @Option(help: "The environment that the key is for (default: both).")
    var keyEnvironment: Environment?

    @Option(help: "The app of the client certificate that it makes (default: --key-topic, or com.example.Notes).")
    var topic: String?

    @Option(help: "How many streams a connection has, once its first token was valid; {\"streams\":0} takes all away.")
    var streams = 1000

    @Option(help: "NDJSON of the devices there are, and no others.", completion: .file())
    var devices: String?

    @Option(help: "NDJSON of rules to answer by.", completion: .file())
    var script: String?

    @Flag(help: "NDJSON on a terminal, too.")
    var json = false

    @Option(help: "requests: a line each; device: as the device shows them. For people, also in a pipe.")
    var show: APNsDisplay.Form?

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port takes a number from 0 to 65535") }
        guard (1...2_147_483_647).contains(streams) else {
            throw ValidationError("--streams takes a number from 1 to 2147483647")
        }
        for topic in keyTopic where !TopicText.isWellFormed(topic) {
            throw ValidationError("--key-topic takes a bundle ID like com.example.Notes, not '\(topic)'")
        }
        for (option, text) in [("--key-id", keyID), ("--team", team)] where !APNsServerCommand.isID(text) {
            throw ValidationError("\(option) takes ten letters and digits, as Apple's have")
        }
        if json, show != nil { throw ValidationError("--json and --show exclude each other") }
    }

    /// It becomes part of a file's name.
    private static func isID(_ text: String) -> Bool {
        text.utf8.count == 10 && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
    }

    func run() async throws {
        try await APNsServing(settings: try settings(), form: form).run()
    }

    private var form: APNsDisplay.Form {
        if let show { return show }
        return json || !StandardOutput.isTerminal ? .json : .requests
    }

    private static func text(of path: String) throws -> String {
        let file = FileHandle(fileDescriptor: try InputSource(path: path).open(), closeOnDealloc: true)
        do { return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self) } catch {
            throw ToolFailure(.noInput, "cannot read \(path): \(error.localizedDescription)")
        }
    }

    private func settings() throws -> LocalAPNs.Configuration {
        var settings = LocalAPNs.Configuration()
        (settings.host, settings.port, settings.names) = (bind, port, name)
        (settings.environment, settings.folder, settings.streams) = (environment, data, streams)
        (settings.keyPath, settings.keyID, settings.team) = (key, keyID, team)
        settings.topic = topic ?? keyTopic.first ?? settings.topic
        if !keyTopic.isEmpty { settings.keyTopics = Set(keyTopic) }
        if let keyEnvironment { settings.keyEnvironments = [keyEnvironment] }
        if let devices {
            settings.devices = try LineFile.devices(try APNsServerCommand.text(of: devices), name: devices)
            settings.isStrict = true
        }
        if let script { settings.script = try LineFile.script(try APNsServerCommand.text(of: script), name: script) }
        return settings
    }
}
