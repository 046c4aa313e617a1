import Foundation
import TestSupport
import Testing

/// Runs `belfry apns-server` as a user does, with curl as the provider.
@Suite(.timeLimit(.minutes(5)))
struct APNsServerCommandTests {
    private func start(_ arguments: [String], in folder: Folder) async throws -> (Program, port: String) {
        let program = try Program("belfry", ["apns-server", "--port", "0"] + arguments, in: folder.path)
        let line = try #require(await program.waitForMessage("port: "))
        return (program, String(line.drop { !$0.isNumber }))
    }

    private func push(to port: String, in folder: Folder) throws -> String {
        Cost.spend(.processes)
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/usr/bin/curl")
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        let data = ".belfry/apns-server"
        process.arguments = [
            "-sS", "-m", "10", "--http2", "--cacert", "\(data)/ca.pem", "--cert", "\(data)/client.pem", "--key",
            "\(data)/client-key.pem", "-H", "apns-push-type: alert", "-d", #"{"aps":{"alert":"Milk"}}"#,
            "https://localhost:\(port)/3/device/ab01",
        ]
        process.standardOutput = output
        try process.run()
        defer { process.waitUntilExit() }
        return String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    }

    @Test func `a push becomes a line of NDJSON, and after a signal the server exits with 0`() async throws {
        let folder = try Folder()
        let (program, port) = try await start([], in: folder)
        #expect(try push(to: port, in: folder) == "")
        let line = try #require(await program.waitForOutputLine(#""type":"request""#))
        #expect(line.contains(#""status":200"#) && line.contains(#""body":{"aps":{"alert":"Milk"}}"#))
        program.signal(SIGTERM)
        #expect(await program.result().status == 0)
    }

    @Test func `the server shows the screen of a device, and executes commands`() async throws {
        let folder = try Folder()
        let (program, port) = try await start(["--show", "device"], in: folder)
        try program.write(#"{"device":{"token":"ab01","topic":"com.example.Notes","state":"offline"}}"# + "\n")
        await program.waitForMessage("done: device ab01")
        #expect(try push(to: port, in: folder) == "")
        await program.waitForOutputLine("(stored: the device was offline)")
        try program.write("{\"device\":{\"token\":\"ab01\",\"topic\":\"com.example.Notes\"}}\n\n{\"clok\":1}\n")
        #expect(await program.waitForOutputLine("Milk") == "    Milk")
        #expect(
            await program.waitForMessage("clok") == #"standard input:4: unknown key "clok"; did you mean "clock"?"#,
            "empty lines are counted too")
        try program.write(#"{"key":{"id":"NOSUCHKEY1","state":"revoked"}}"# + "\n")
        #expect(
            await program.waitForMessage("NOSUCHKEY1")
                == "standard input:5: key.id: the server has no key NOSUCHKEY1")
    }

    @Test func `invalid lines are reported with file and line, and unusable files by exit status`() async throws {
        let folder = try Folder()
        try folder.write("# rules\n{\"do\":{\"stats\":500}}\n", to: "rules")
        try folder.write("{\"token\":\"xy\",\"topic\":\"a\"}\n", to: "devices")
        let script = try await Program.run("belfry", ["apns-server", "--script", "rules"], in: folder.path)
        #expect(script.status == 65)
        #expect(script.errors == "rules:2: do: unknown key \"stats\"; did you mean \"status\"?\n")
        let devices = try await Program.run("belfry", ["apns-server", "--devices", "devices"], in: folder.path)
        #expect(devices.status == 65)
        #expect(devices.errors == "devices:1: token: expected an even number of hex digits, 2 to 512\n")
        #expect(try await Program.run("belfry", ["apns-server", "--key", "rules"], in: folder.path).status == 78)
        #expect(try await Program.run("belfry", ["apns-server", "--key", "absent"], in: folder.path).status == 66)
        #expect(try await Program.run("belfry", ["apns-server", "--data", "rules/x"], in: folder.path).status == 74)
    }

    @Test(arguments: [
        (["--streams", "0"], "--streams takes a number from 1 to 2147483647, not 0"),
        (["--port", "65536"], "--port takes a number from 0 to 65535, not 65536"),
        (["--key-topic", "com..Notes"], "--key-topic takes a bundle ID like com.example.Notes, not 'com..Notes'"),
        (["--key-environment", "staging"], "'development' and 'production'"),
    ])
    func `invalid options of the server are refused`(arguments: [String], complaint: String) async throws {
        let result = try await Program.run("belfry", ["apns-server"] + arguments)
        #expect(result.status == 64 && result.errors.contains(complaint), "\(result)")
    }

    @Test func `a port in use is reported`() async throws {
        let folder = try Folder()
        let (program, port) = try await start([], in: folder)
        let second = try await Program.run("belfry", ["apns-server", "--port", port], in: folder.path)
        #expect(second.status == 69)
        #expect(second.errors == "cannot listen at 127.0.0.1:\(port): Address already in use\n")
        program.signal(SIGTERM)
        #expect(await program.result().status == 0)
    }
}
