import StageTool
import TestSupport
import Testing

@testable import Inspect

struct LogPlaceTests {
    @Test func `a data folder and a folder of logs are places; a log is found by path, or by name in a place`() throws {
        let logs = try TracedLogs().write("changes", ["{}"])
        let (data, changes) = (logs.folder.path, logs.path + "/changes")
        #expect(try LogPlace.folder(data) == logs.path)
        #expect(try LogPlace.folder(logs.path) == logs.path)
        #expect(try LogPlace.log(changes, pipeline: nil) == changes)
        #expect(try LogPlace.log(data + "/changes", pipeline: nil) == changes)
        #expect(try LogPlace.log("changes", pipeline: data) == changes)
        #expect(try LogPlace.isPlace(data))
        #expect(try LogPlace.isPlace(logs.path))
        #expect(try !LogPlace.isPlace(changes))
    }

    @Test func `an error about an unknown log lists the logs`() throws {
        let logs = try TracedLogs().write("changes", ["{}"])
        let failure = try #require(throws: ToolFailure.self) {
            _ = try LogPlace.log("matches", pipeline: logs.folder.path)
        }
        #expect(failure.status == .noInput)
        #expect(failure.message.hasSuffix("there are: changes"))
    }

    @Test func `an error about a folder without logs says how to get them`() throws {
        let folder = try Folder()
        let failure = try #require(throws: ToolFailure.self) {
            _ = try LogPlace.log("changes", pipeline: folder.path)
        }
        #expect(failure.message.hasPrefix("there are no logs in \(folder.path) yet: start the pipeline"))
    }
}
