import ArgumentParser
import Foundation
import LocalAPNs

struct APNsServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apns-server",
        abstract:
            "Runs a local APNs: accepts pushes over HTTP/2 and TLS, checks them, and shows what a device would show.",
        discussion: """
            The server makes keys and certificates for tests in --data, keeps them there, and prints on standard error the \
            settings that a pipeline needs. It checks requests as APNs does: provider token, headers, topic, device, payload. \
            On a terminal it prints a line for each request and each event of a connection; in a pipe, or with --json, it \
            prints NDJSON.

              belfry apns-server
              belfry apns-server --show device
              belfry apns-server --script trouble.ndjson | jq -c .status

            The key is valid for all topics and both environments, unless you limit it with --key-topic and \
            --key-environment. Then a push for another topic gets TopicDisallowed, and a server of the other environment \
            rejects the key. The server of this example imitates development, the default. It rejects the key, which \
            is valid for production only:

              belfry apns-server --key-topic com.example.Notes --key-environment production

            Every hex string of even length, up to 512 digits, is a valid device token, unless --devices lists the \
            devices. A device's state is active, offline (the newest push waits for it), unregistered or expired; "since" \
            is in milliseconds since 1970:

              {"token":"6a0f","topic":"com.example.Notes","environment":"development",
               "state":"unregistered","since":1795328436000}    (in one line)

            A script is a file of rules, one JSON object a line. A rule applies to the requests that its "when" describes. \
            If several rules apply, each member of "do" comes from the first rule that has it; status, silence, drop and \
            reset count as one member. A status applies only to requests that would be accepted:

              # every third push to tokens 6a0f… fails; the 500th request gets a GOAWAY
              {"when":{"token":"6a0f*","every":3},"do":{"status":503,"retryAfter":30}}
              {"when":{"above":{"count":5,"seconds":60}},"do":{"status":429}}
              {"do":{"latency":[5,40]}}
              {"when":{"nth":500},"do":{"goaway":{"reason":"Shutdown","twice":true}}}
              {"quirks":{"fallAfterError":true}}

              when    token, topic (a final * matches any text), type, connection, errors,
                      nth, every, first, beyond, share with seed,
                      above {count, seconds} for each device token
              do      status with reason and timestamp, retryAfter, latency, early,
                      silence, drop, reset CODE, streams, goaway {reason or text,
                      code, timestamp, lastStream current|before|all|N, twice, close}
              quirks  tokens strict|lenient, tokenUpdates connection|key,
                      futureToken REASON, wrongEnvironmentKey REASON,
                      badCertificate goaway|answer, overLimit refuse|serve|goaway,
                      missingPushType and badPayload accept|refuse, upperCaseIDs,
                      fallAfterError, ignorePings, goAwayAfterErrors N

            While the server runs, it reads commands from standard input, one JSON object a line. A command moves the \
            server's clock, changes a device, revokes or restores a key, replaces the script, sends SETTINGS or GOAWAY to \
            connections, or drops them.

              {"clock":"+25m"}
              {"device":{"token":"6a0f","topic":"com.example.Notes","state":"offline"}}
              {"key":{"id":"KEYLOCAL12","state":"revoked"}}
              {"script":[{"do":{"status":500}}]}
              {"streams":5}
              {"goaway":{"reason":"Shutdown","connection":1}}
              {"drop":"connections"}

            Exit codes: 64 usage, 65 invalid line in a file, 66 no such file or cannot read --devices or --script, 69 \
            cannot listen on the port, 74 cannot read or write another file, 78 invalid key or certificate.
            """)

    @Option(help: "The port to listen on; 0 for any free port.")
    var port: Int = 2197

    @Option(help: "The address to listen on.")
    var bind = "127.0.0.1"

    @Option(help: "Another host name or address for the server's certificate; may be repeated.")
    var name: [String] = []

    @Option(help: "The APNs service to imitate: development or production.")
    var environment = Environment.development

    @Option(help: "The folder for keys and certificates.", completion: .directory)
    var data = ".belfry/apns-server"

    @Option(help: "A .p8 file to use instead of a generated key.", completion: .file(extensions: ["p8"]))
    var key: String?

    @Option(help: "The key's ID.")
    var keyID = "KEYLOCAL12"

    @Option(help: "The key's team.")
    var team = "TEAMLOCAL1"

    @Option(help: "A topic that the key is valid for; may be repeated (default: all topics of the team).")
    var keyTopic: [String] = []

    @Option(help: "The environment that the key is valid for (default: both).")
    var keyEnvironment: Environment?

    @Option(help: "The app of the generated client certificate (default: --key-topic, or com.example.Notes).")
    var topic: String?

    @Option(
        help: """
            How many streams a connection may have open after its first valid token. The command {"streams":N} changes it.
            """)
    var streams = 1000

    @Option(help: "An NDJSON file that lists all devices.", completion: .file())
    var devices: String?

    @Option(help: "An NDJSON file with the rules for answers.", completion: .file())
    var script: String?

    @Flag(help: "Print NDJSON even on a terminal.")
    var json = false

    @Option(
        help: """
            Print text, not NDJSON, even in a pipe. "requests" prints a line for each request and event, "device" what \
            a device shows.
            """)
    var show: APNsDisplay.Form?

    func validate() throws {
        guard (0...65_535).contains(port) else {
            throw ValidationError("--port takes a number from 0 to 65535, not \(port)")
        }
        guard (1...2_147_483_647).contains(streams) else {
            throw ValidationError("--streams takes a number from 1 to 2147483647, not \(streams)")
        }
        for topic in keyTopic where !TopicText.isWellFormed(topic) {
            throw ValidationError("--key-topic takes a bundle ID like com.example.Notes, not '\(topic)'")
        }
        for (option, text) in [("--key-id", keyID), ("--team", team)] where !APNsServerCommand.isID(text) {
            throw ValidationError("\(option) takes ten letters and digits, like Apple's IDs, not '\(text.printable)'")
        }
        if json, show != nil { throw ValidationError("give --json or --show, not both") }
    }

    /// Whether a string is ten letters and digits, as Apple's IDs are. The key's ID also becomes part of a file name.
    private static func isID(_ text: String) -> Bool {
        text.utf8.count == 10 && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
    }

    func run() async throws {
        try await APNsServing(settings: try settings(), form: form).run()
    }

    private var form: APNsDisplay.Form? { show ?? (json || !StandardOutput.isTerminal ? nil : .requests) }

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
