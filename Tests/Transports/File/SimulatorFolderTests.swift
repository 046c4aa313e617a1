import Foundation
import PipelineKit
import Testing

@testable import TransportFile

@Suite struct SimulatorFolderTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var path: String { folder.path + "/out/pushes" }

    private func push(
        _ sequence: UInt64, to device: String = "phone", id: String = "id", topic: String? = "com.example.Notes",
        payload: String = #"{"aps":{"alert":"Hi"},"ck":{"cid":"é"}}"#, app: Delivery.App? = nil
    ) -> Delivery {
        let topic = topic.map { #","apns-topic":"\#($0)""# } ?? ""
        let line =
            #"{"user":"_alice","device":"x","token":"secret","headers":{"apns-id":"\#(id)"\#(topic)},"payload":\#(payload)}"#
        return Delivery(
            id: .init(push: sequence, device: device), transport: "sim", app: app, head: Array(line.utf8), rest: [])
    }

    private func deliver(_ pushes: Delivery..., calls: FileCalls = FileCalls()) async throws -> [TransportAnswer] {
        let transport = FileTransport(path: path, as: .simctl, calls: calls)
        try await transport.open()
        let answers = await transport.deliver(pushes)
        await transport.close()
        return answers
    }

    private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }

    @Test func `a push becomes a file with its payload and app, which other users may not read`() async throws {
        #expect(try await deliver(push(7)) == [TransportAnswer(push(7).id, .accepted)])
        #expect(try names() == ["000000000007-phone-id.apns"])
        #expect(
            try folder.text(of: "out/pushes/000000000007-phone-id.apns")
                == #"{"Simulator Target Bundle":"com.example.Notes","aps":{"alert":"Hi"},"ck":{"cid":"é"}}"# + "\n")
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/000000000007-phone-id.apns")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func `the file of a push with an empty payload is JSON`() async throws {
        _ = try await deliver(push(1, payload: "{ }"))
        let text = try folder.text(of: "out/pushes/000000000001-phone-id.apns")
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: String]
        #expect(object == ["Simulator Target Bundle": "com.example.Notes"])
    }

    @Test func `a push without a topic in its headers is for the device's app`() async throws {
        let app = Delivery.App(container: "c", environment: "development", topic: "com.example.Other")
        _ = try await deliver(push(1, topic: nil, app: app))
        let text = try folder.text(of: "out/pushes/000000000001-phone-id.apns")
        #expect(text.hasPrefix(#"{"Simulator Target Bundle":"com.example.Other","#))
    }

    @Test func `file names sort in the order of the pushes`() async throws {
        _ = try await deliver(push(10), push(9), push(1), push(100), push(123_456_789_012))
        #expect(try names().map { UInt64($0.prefix(12)) } == [1, 9, 10, 100, 123_456_789_012])
    }

    @Test func `each push has a file name of its own, and a repeat has the same name`() async throws {
        let devices = ["a/b", "a%2Fb", "..", "", String(repeating: "é", count: 127), "Ä"]
        for (index, device) in devices.enumerated() { _ = try await deliver(push(1, to: device, id: "id\(index)")) }
        let long = String(repeating: "x", count: 254)
        _ = try await deliver(
            push(1, to: long + "1", id: "i"), push(1, to: long + "2", id: "j"), push(1, to: long + "2", id: "j"))
        #expect(try names().count == devices.count + 2)
        #expect(try names().allSatisfy { $0.utf8.allSatisfy { $0 != 0x2F } && $0.hasSuffix(".apns") })
    }

    @Test func `only the pushes that no simulator can show fail`() async throws {
        let answers = try await deliver(
            push(1), push(2, topic: nil), push(3, payload: "7"), pushes("no json")[0], push(4))
        #expect(answers.map(\.outcome) == [.accepted, .failed, .failed, .failed, .accepted])
        #expect(answers[1].reason == "not a push with an apns-id, a topic and a payload" && answers[1].attempts == 0)
        #expect(try names().count == 2)
    }

    @Test func `the file of a push is complete or missing`() async throws {
        let calls = FileCalls(write: { descriptor, bytes, count in
            guard count > 10 else {
                errno = ENOSPC
                return -1
            }
            return write(descriptor, bytes, count - 10)
        })
        let answers = try await deliver(push(1), calls: calls)
        #expect(answers.map(\.outcome) == [.failed] && answers[0].reason == "No space left on device")
        #expect(try names().isEmpty)
    }

    @Test func `a folder that cannot be written is refused with the remedy`() async throws {
        try folder.write("", to: "out")
        let error = await #expect(throws: TransportError.self) { try await deliver() }
        #expect(error?.reason.contains("choose another path") == true)
        try FileManager.default.removeItem(atPath: folder.path + "/out")
        try folder.write("", to: "file")
        await #expect(throws: TransportError.self) {
            try await FileTransport(path: folder.path + "/file", as: .simctl).open()
        }
    }

    @Test
    func `'as: simctl' needs a folder and takes no path, 'as: ndjson' takes no folder, any other 'as' is refused`()
        throws
    {
        func settings(_ text: String) throws -> FileTransport.Settings {
            try SettingsReader(text: text, file: "/etc/belfry/p.yaml").decode(FileTransport.Settings.self)
        }
        #expect(try settings("as: simctl\nfolder: out").path == "/etc/belfry/out")
        for text in [
            "as: simctl", "as: simctl\npath: out", "as: simctl\nfolder: a\npath: b", "folder: a", "as: xcode\npath: a",
        ] {
            #expect(throws: PipelineFileError.self) { try settings(text) }
        }
    }
}
